/** Learning: sparse logistic regression, k-means, and the Gibbs step of a topic model. */
import { dense, filled, type KernelQuestion, scattered, wholes } from './question.ts'

const PER_SAMPLE = 16
const RATE = 0.1

export function logisticRegression(samples: number, features: number): KernelQuestion {
  const data = () => ({
    feature: wholes(samples * PER_SAMPLE, features),
    value: filled(samples * PER_SAMPLE, 101),
    label: Float64Array.from({ length: samples }, (_, s) => scattered(s, 2)),
  })
  return {
    name: `sparse logistic regression, ${samples} samples of ${PER_SAMPLE}`,
    unit: 'sample',
    units: samples,
    native: ['logistic', samples, features],
    isNativeParallel: false,
    order: 'serial',
    program: async (session, precision) => {
      const { feature: features0, value: values0, label: labels0 } = data()
      const feature = await dense(session, [samples, PER_SAMPLE], 'i32', features0)
      const value = await dense(session, [samples, PER_SAMPLE], 'f64', values0)
      const label = await dense(session, [samples], 'f64', labels0)
      const weight = session.zeros([features])
      const loop = session.loop(
        session.range(samples),
        { feature, value, label, weight },
        ([s], { feature, value, label, weight }) => {
          let margin = 0
          for (let k = 0; k < PER_SAMPLE; k++) margin += weight.get(feature.get(s, k)) * value.get(s, k)
          const error = label.get(s) - 1 / (1 + Math.exp(-margin))
          for (let k = 0; k < PER_SAMPLE; k++) {
            const f = feature.get(s, k)
            weight.set(f, weight.get(f) + RATE * error * value.get(s, k))
          }
        },
        { precision },
      )
      return { loops: [loop], results: [weight], arrays: [feature, value, label, weight] }
    },
    plain: () => {
      const { feature, value, label } = data()
      const weight = new Float64Array(features)
      const pass = () => {
        for (let s = 0; s < samples; s++) {
          const [from, to] = [s * PER_SAMPLE, (s + 1) * PER_SAMPLE]
          let margin = 0
          for (let p = from; p < to; p++) margin += weight[feature[p]!]! * value[p]!
          const error = label[s]! - 1 / (1 + Math.exp(-margin))
          for (let p = from; p < to; p++) weight[feature[p]!]! += RATE * error * value[p]!
        }
      }
      return { pass, results: [weight] }
    },
  }
}

const CENTRES = 16
const AXES = 8

/** Coordinates are whole numbers, so that their sums are exact in any order. */
export function kMeans(points: number): KernelQuestion {
  const data = () => Float64Array.from({ length: points * AXES }, (_, i) => scattered(i, 256))
  return {
    name: `k-means, ${points} points, ${CENTRES} centres, ${AXES} axes`,
    unit: 'point',
    units: points,
    native: ['k-means', points],
    isNativeParallel: true,
    order: 'serial',
    program: async (session, precision) => {
      const coordinates = data()
      const point = await dense(session, [points, AXES], 'f64', coordinates)
      const centre = await dense(session, [CENTRES, AXES], 'f64', coordinates.slice(0, CENTRES * AXES))
      const total = session.zeros([CENTRES, AXES])
      const count = session.zeros([CENTRES], { dtype: 'i32' })
      const nearest = session.zeros([points], { dtype: 'i32' })
      const assign = session.loop(
        session.range(points),
        { point, centre, nearest },
        ([p], { point, centre, nearest }) => {
          let least = Infinity
          let best = 0
          for (let c = 0; c < CENTRES; c++) {
            let square = 0
            for (let a = 0; a < AXES; a++) {
              const d = point.get(p, a) - centre.get(c, a)
              square += d * d
            }
            if (square < least) {
              least = square
              best = c
            }
          }
          nearest.set(p, best)
        },
        { precision },
      )
      const addUp = session.loop(
        session.range(points),
        { point, nearest, total, count },
        ([p], { point, nearest, total, count }) => {
          const c = nearest.get(p)
          for (let a = 0; a < AXES; a++) total.add(c, a, point.get(p, a))
          count.add(c, 1)
        },
        { precision },
      )
      const move = session.loop(session.range(CENTRES), { centre, total, count }, ([c], { centre, total, count }) => {
        const members = count.get(c)
        for (let a = 0; a < AXES; a++) {
          if (members > 0) centre.set(c, a, total.get(c, a) / members)
          total.set(c, a, 0)
        }
        count.set(c, 0)
      })
      return { loops: [assign, addUp, move], results: [centre], arrays: [point, centre, total, count, nearest] }
    },
    plain: () => {
      const point = data()
      const centre = point.slice(0, CENTRES * AXES)
      const [total, count, nearest] = [new Float64Array(CENTRES * AXES), new Int32Array(CENTRES), new Int32Array(points)]
      const pass = () => {
        for (let p = 0; p < points; p++) {
          let least = Infinity
          let best = 0
          for (let c = 0; c < CENTRES; c++) {
            let square = 0
            for (let a = 0; a < AXES; a++) {
              const d = point[p * AXES + a]! - centre[c * AXES + a]!
              square += d * d
            }
            if (square < least) {
              least = square
              best = c
            }
          }
          nearest[p] = best
        }
        total.fill(0)
        count.fill(0)
        for (let p = 0; p < points; p++) {
          const c = nearest[p]!
          for (let a = 0; a < AXES; a++) total[c * AXES + a]! += point[p * AXES + a]!
          count[c]!++
        }
        for (let c = 0; c < CENTRES; c++)
          for (let a = 0; a < AXES; a++) if (count[c]! > 0) centre[c * AXES + a] = total[c * AXES + a]! / count[c]!
      }
      return { pass, results: [centre] }
    },
  }
}

const TOPICS = 20
const PER_DOC = 100

export function gibbs(words: number, vocabulary: number): KernelQuestion {
  const data = () => {
    const word = wholes(words, vocabulary)
    const topic = Int32Array.from({ length: words }, (_, p) => p % TOPICS)
    const doc = Int32Array.from({ length: words }, (_, p) => Math.floor(p / PER_DOC))
    const draw = Float64Array.from({ length: words }, (_, p) => scattered(p, 1000) / 1000)
    const [ofDoc, ofWord, total] = [new Int32Array((words / PER_DOC) * TOPICS), new Int32Array(vocabulary * TOPICS), new Int32Array(TOPICS)]
    for (let p = 0; p < words; p++) {
      ofDoc[doc[p]! * TOPICS + topic[p]!]!++
      ofWord[word[p]! * TOPICS + topic[p]!]!++
      total[topic[p]!]!++
    }
    return { word, topic, doc, draw, ofDoc, ofWord, total }
  }
  return {
    name: `Gibbs step of LDA, ${words} words, ${TOPICS} topics`,
    unit: 'word',
    units: words,
    native: ['gibbs', words, vocabulary],
    isNativeParallel: false,
    order: 'serial',
    program: async (session, precision) => {
      const initial = data()
      const doc = await dense(session, [words], 'i32', initial.doc)
      const word = await dense(session, [words], 'i32', initial.word)
      const topic = await dense(session, [words], 'i32', initial.topic)
      const draw = await dense(session, [words], 'f64', initial.draw)
      const ofDoc = await dense(session, [words / PER_DOC, TOPICS], 'i32', initial.ofDoc)
      const ofWord = await dense(session, [vocabulary, TOPICS], 'i32', initial.ofWord)
      const total = await dense(session, [TOPICS], 'i32', initial.total)
      const loop = session.loop(
        session.range(words),
        { doc, word, topic, draw, ofDoc, ofWord, total },
        ([p], { doc, word, topic, draw, ofDoc, ofWord, total }) => {
          const d = doc.get(p)
          const v = word.get(p)
          const old = topic.get(p)
          ofDoc.set(d, old, ofDoc.get(d, old) - 1)
          ofWord.set(v, old, ofWord.get(v, old) - 1)
          total.set(old, total.get(old) - 1)
          let sum = 0
          for (let t = 0; t < TOPICS; t++) sum += ((ofDoc.get(d, t) + 0.1) * (ofWord.get(v, t) + 0.01)) / (total.get(t) + 0.3)
          let rest = draw.get(p) * sum
          let chosen = TOPICS - 1
          for (let t = 0; t < TOPICS; t++) {
            rest -= ((ofDoc.get(d, t) + 0.1) * (ofWord.get(v, t) + 0.01)) / (total.get(t) + 0.3)
            if (rest <= 0) {
              chosen = t
              break
            }
          }
          topic.set(p, chosen)
          ofDoc.set(d, chosen, ofDoc.get(d, chosen) + 1)
          ofWord.set(v, chosen, ofWord.get(v, chosen) + 1)
          total.set(chosen, total.get(chosen) + 1)
        },
        { precision },
      )
      return { loops: [loop], results: [topic, ofDoc, ofWord], arrays: [doc, word, topic, draw, ofDoc, ofWord, total] }
    },
    plain: () => {
      const { word, topic, doc, draw, ofDoc, ofWord, total } = data()
      const pass = () => {
        for (let p = 0; p < words; p++) {
          const d = doc[p]! * TOPICS
          const v = word[p]! * TOPICS
          const old = topic[p]!
          ofDoc[d + old]!--
          ofWord[v + old]!--
          total[old]!--
          let sum = 0
          for (let t = 0; t < TOPICS; t++) sum += ((ofDoc[d + t]! + 0.1) * (ofWord[v + t]! + 0.01)) / (total[t]! + 0.3)
          let rest = draw[p]! * sum
          let chosen = TOPICS - 1
          for (let t = 0; t < TOPICS; t++) {
            rest -= ((ofDoc[d + t]! + 0.1) * (ofWord[v + t]! + 0.01)) / (total[t]! + 0.3)
            if (rest <= 0) {
              chosen = t
              break
            }
          }
          topic[p] = chosen
          ofDoc[d + chosen]!++
          ofWord[v + chosen]!++
          total[chosen]!++
        }
      }
      return { pass, results: [topic, ofDoc, ofWord] }
    },
  }
}
