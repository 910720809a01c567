/** Loops with a scratch array, which every iteration fills before it reads it: each worker gets a copy. */
import { type Entry, entry, random, whole, zeros } from './entry.ts'

const ROWS = 60
const COLUMNS = 40
const WINDOW = 5
const SIDE = 24
const POINTS = 16
const BITS = 4
const WORDS = 40
const LETTERS = 9
const VALUES = 8

export const scratch: readonly Entry[] = [
  entry({
    name: 'softmax by rows',
    what: 'the exponentials of a row are kept in a temporary row until their sum is known',
    data: { x: random([ROWS, COLUMNS], 1), y: zeros([ROWS, COLUMNS]), e: zeros([COLUMNS]) },
    loops: (session, { x, y, e }) =>
      session.loop(session.range(ROWS), { x, y, e }, ([i], { x, y, e }) => {
        let greatest = Number.NEGATIVE_INFINITY
        for (let k = 0; k < COLUMNS; k++) greatest = Math.max(greatest, x.get(i, k))
        let sum = 0
        for (let k = 0; k < COLUMNS; k++) {
          e.set(k, Math.exp(x.get(i, k) - greatest))
          sum += e.get(k)
        }
        for (let k = 0; k < COLUMNS; k++) y.set(i, k, e.get(k) / sum)
      }),
    plain: ({ x, y, e }) => {
      for (let i = 0; i < ROWS; i++) {
        let greatest = Number.NEGATIVE_INFINITY
        for (let k = 0; k < COLUMNS; k++) greatest = Math.max(greatest, x[i * COLUMNS + k]!)
        let sum = 0
        for (let k = 0; k < COLUMNS; k++) {
          e[k] = Math.exp(x[i * COLUMNS + k]! - greatest)
          sum += e[k]!
        }
        for (let k = 0; k < COLUMNS; k++) y[i * COLUMNS + k] = e[k]! / sum
      }
    },
  }),
  entry({
    name: 'medians of windows',
    what: 'a window of an image is sorted in a scratch array, by insertion: where its elements go the data says',
    data: { image: random([SIDE, SIDE], 2, 'f32'), out: zeros([SIDE, SIDE], 'f32'), window: zeros([WINDOW * WINDOW], 'f32') },
    loops: (session, { image, out, window }) =>
      session.loop(session.range(SIDE, SIDE), { image, out, window }, ([i, j], { image, out, window }) => {
        for (let a = 0; a < WINDOW; a++) {
          for (let b = 0; b < WINDOW; b++) {
            const row = Math.min(SIDE - 1, Math.max(0, i + a - 2))
            const column = Math.min(SIDE - 1, Math.max(0, j + b - 2))
            window.set(a * WINDOW + b, image.get(row, column))
          }
        }
        for (let k = 1; k < WINDOW * WINDOW; k++) {
          const value = window.get(k)
          let at = k - 1
          while (at >= 0 && window.get(at) > value) {
            window.set(at + 1, window.get(at))
            at--
          }
          window.set(at + 1, value)
        }
        out.set(i, j, window.get((WINDOW * WINDOW - 1) / 2))
      }),
    plain: ({ image, out, window }) => {
      const inside = (k: number) => Math.min(SIDE - 1, Math.max(0, k))
      for (let i = 0; i < SIDE; i++) {
        for (let j = 0; j < SIDE; j++) {
          for (let a = 0; a < WINDOW; a++)
            for (let b = 0; b < WINDOW; b++) window[a * WINDOW + b] = image[inside(i + a - 2) * SIDE + inside(j + b - 2)]!
          window.sort()
          out[i * SIDE + j] = window[(WINDOW * WINDOW - 1) / 2]!
        }
      }
    },
  }),
  entry({
    name: 'Fourier transforms of rows',
    what: 'a transform of 16 points for each row, in place in two work rows, real and imaginary parts',
    data: {
      signal: random([ROWS, POINTS], 3),
      power: zeros([ROWS, POINTS]),
      re: zeros([POINTS]),
      im: zeros([POINTS]),
    },
    loops: (session, { signal, power, re, im }) =>
      session.loop(session.range(ROWS), { signal, power, re, im }, ([i], { signal, power, re, im }) => {
        for (let k = 0; k < POINTS; k++) {
          let reversed = 0
          for (let bit = 0; bit < BITS; bit++) reversed = reversed * 2 + ((k >> bit) & 1)
          re.set(k, signal.get(i, reversed))
          im.set(k, 0)
        }
        for (let half = 1; half < POINTS; half *= 2) {
          for (let start = 0; start < POINTS; start += 2 * half) {
            for (let k = start; k < start + half; k++) {
              const angle = (-Math.PI * (k - start)) / half
              const c = Math.cos(angle)
              const s = Math.sin(angle)
              const x = c * re.get(k + half) - s * im.get(k + half)
              const y = s * re.get(k + half) + c * im.get(k + half)
              re.set(k + half, re.get(k) - x)
              im.set(k + half, im.get(k) - y)
              re.set(k, re.get(k) + x)
              im.set(k, im.get(k) + y)
            }
          }
        }
        for (let k = 0; k < POINTS; k++) power.set(i, k, re.get(k) * re.get(k) + im.get(k) * im.get(k))
      }),
    plain: ({ signal, power, re, im }) => {
      for (let i = 0; i < ROWS; i++) {
        for (let k = 0; k < POINTS; k++) {
          let reversed = 0
          for (let bit = 0; bit < BITS; bit++) reversed = reversed * 2 + ((k >> bit) & 1)
          re[k] = signal[i * POINTS + reversed]!
          im[k] = 0
        }
        for (let half = 1; half < POINTS; half *= 2) {
          for (let start = 0; start < POINTS; start += 2 * half) {
            for (let k = start; k < start + half; k++) {
              const angle = (-Math.PI * (k - start)) / half
              const c = Math.cos(angle)
              const s = Math.sin(angle)
              const x = c * re[k + half]! - s * im[k + half]!
              const y = s * re[k + half]! + c * im[k + half]!
              re[k + half] = re[k]! - x
              im[k + half] = im[k]! - y
              re[k] = re[k]! + x
              im[k] = im[k]! + y
            }
          }
        }
        for (let k = 0; k < POINTS; k++) power[i * POINTS + k] = re[k]! * re[k]! + im[k]! * im[k]!
      }
    },
  }),
  entry({
    name: 'edit distances of many pairs',
    what: 'all pairs of words, each with the one row of the table that its distance needs',
    data: { words: whole([WORDS, LETTERS], 4, 4), distance: zeros([WORDS, WORDS], 'i32'), row: zeros([LETTERS + 1], 'i32') },
    loops: (session, { words, distance, row }) =>
      session.loop(session.range(WORDS, WORDS), { words, distance, row }, ([a, b], { words, distance, row }) => {
        for (let j = 0; j < LETTERS + 1; j++) row.set(j, j)
        for (let i = 1; i < LETTERS + 1; i++) {
          let diagonal = row.get(0)
          row.set(0, i)
          for (let j = 1; j < LETTERS + 1; j++) {
            const above = row.get(j)
            const change = diagonal + (words.get(a, i - 1) === words.get(b, j - 1) ? 0 : 1)
            row.set(j, Math.min(above + 1, row.get(j - 1) + 1, change))
            diagonal = above
          }
        }
        distance.set(a, b, row.get(LETTERS))
      }),
    plain: ({ words, distance, row }) => {
      for (let a = 0; a < WORDS; a++) {
        for (let b = 0; b < WORDS; b++) {
          for (let j = 0; j <= LETTERS; j++) row[j] = j
          for (let i = 1; i <= LETTERS; i++) {
            let diagonal = row[0]!
            row[0] = i
            for (let j = 1; j <= LETTERS; j++) {
              const above = row[j]!
              const change = diagonal + (words[a * LETTERS + i - 1] === words[b * LETTERS + j - 1] ? 0 : 1)
              row[j] = Math.min(above + 1, row[j - 1]! + 1, change)
              diagonal = above
            }
          }
          distance[a * WORDS + b] = row[LETTERS]!
        }
      }
    },
  }),
  entry({
    name: 'most frequent values of rows',
    what: 'a small table of counts, emptied and filled again for each row: where it is filled the data says',
    data: { x: whole([ROWS, COLUMNS], VALUES, 5), mode: zeros([ROWS], 'i32'), counts: zeros([VALUES], 'i32') },
    loops: (session, { x, mode, counts }) =>
      session.loop(session.range(ROWS), { x, mode, counts }, ([i], { x, mode, counts }) => {
        for (let v = 0; v < VALUES; v++) counts.set(v, 0)
        for (let k = 0; k < COLUMNS; k++) counts.set(x.get(i, k), counts.get(x.get(i, k)) + 1)
        let best = 0
        for (let v = 1; v < VALUES; v++) if (counts.get(v) > counts.get(best)) best = v
        mode.set(i, best)
      }),
    plain: ({ x, mode, counts }) => {
      for (let i = 0; i < ROWS; i++) {
        counts.fill(0)
        for (let k = 0; k < COLUMNS; k++) counts[x[i * COLUMNS + k]!]!++
        let best = 0
        for (let v = 1; v < VALUES; v++) if (counts[v]! > counts[best]!) best = v
        mode[i] = best
      }
    },
  }),
  entry({
    name: 'prefix sums by rows, in a work row',
    what: 'the row is filled step by step, each element from the one before',
    data: { x: random([ROWS, COLUMNS], 6), y: zeros([ROWS, COLUMNS]), sums: zeros([COLUMNS]) },
    loops: (session, { x, y, sums }) =>
      session.loop(session.range(ROWS), { x, y, sums }, ([i], { x, y, sums }) => {
        sums.set(0, x.get(i, 0))
        for (let k = 1; k < COLUMNS; k++) sums.set(k, sums.get(k - 1) + x.get(i, k))
        for (let k = 0; k < COLUMNS; k++) y.set(i, k, sums.get(k) / sums.get(COLUMNS - 1))
      }),
    plain: ({ x, y, sums }) => {
      for (let i = 0; i < ROWS; i++) {
        sums[0] = x[i * COLUMNS]!
        for (let k = 1; k < COLUMNS; k++) sums[k] = sums[k - 1]! + x[i * COLUMNS + k]!
        for (let k = 0; k < COLUMNS; k++) y[i * COLUMNS + k] = sums[k]! / sums[COLUMNS - 1]!
      }
    },
  }),
  entry({
    name: 'a work row that grows',
    what: 'each iteration fills as much of it as its index says: which iteration wrote an element last is not the same for all',
    data: { x: random([COLUMNS, COLUMNS], 7), y: zeros([COLUMNS]), t: zeros([COLUMNS]) },
    loops: (session, { x, y, t }) =>
      session.loop(session.range(COLUMNS), { x, y, t }, ([i], { x, y, t }) => {
        for (let k = 0; k < i; k++) t.set(k, x.get(i, k) * 0.5)
        let sum = 0
        for (let k = 0; k < i; k++) sum += t.get(i - 1 - k) * x.get(k, i)
        y.set(i, sum)
      }),
    plain: ({ x, y, t }) => {
      for (let i = 0; i < COLUMNS; i++) {
        for (let k = 0; k < i; k++) t[k] = x[i * COLUMNS + k]! * 0.5
        let sum = 0
        for (let k = 0; k < i; k++) sum += t[i - 1 - k]! * x[k * COLUMNS + i]!
        y[i] = sum
      }
    },
  }),
  entry({
    name: 'a work row that is read first',
    what: 'what the iteration before left in it is still of use: no scratch array, but a state',
    data: { x: random([ROWS, COLUMNS], 8), y: zeros([ROWS, COLUMNS]), mean: zeros([COLUMNS]) },
    loops: (session, { x, y, mean }) =>
      session.loop(session.range(ROWS), { x, y, mean }, ([i], { x, y, mean }) => {
        for (let k = 0; k < COLUMNS; k++) mean.set(k, 0.9 * mean.get(k) + 0.1 * x.get(i, k))
        for (let k = 0; k < COLUMNS; k++) y.set(i, k, mean.get(COLUMNS - 1 - k))
      }),
    plain: ({ x, y, mean }) => {
      for (let i = 0; i < ROWS; i++) {
        for (let k = 0; k < COLUMNS; k++) mean[k] = 0.9 * mean[k]! + 0.1 * x[i * COLUMNS + k]!
        for (let k = 0; k < COLUMNS; k++) y[i * COLUMNS + k] = mean[COLUMNS - 1 - k]!
      }
    },
  }),
]
