/**
 * Law: a body that asks captured objects and lists in each other - roads of places, layers of a network, a cube of numbers - keeps such objects
 * in variables and lists, and makes lists of objects by their number of places, is compiled to WebAssembly, runs in parallel, and gives the
 * bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('capturedObjects.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Meter {
  readonly from = 3
  readonly marks = [2, 5, 7]
  get span() {
    return (this.marks[2] ?? 0) * this.from
  }
  scaled(by: number) {
    return this.span * by
  }
}

const HELD = {
  roads: Array.from({ length: 7 }, (_, v) =>
    Array.from({ length: v % 4 }, (_, k) => ({ to: (v * 3 + k * 5) % 7, w: ((v + k) % 5) / 2, open: k % 2 === 0 })),
  ),
  even: Array.from({ length: 5 }, (_, v) => [
    { to: v, w: 2.5 },
    { to: (v + 3) % 5, w: -0 },
  ]),
  cube: Array.from({ length: 3 }, (_, a) =>
    Array.from({ length: 2 }, (_, b) => Array.from({ length: 2 }, (_, c) => a * 4 + b * 2 + c / 4)),
  ),
  links: [[1, 2], [0], [3, 5, 4], []],
  ragged: [[[1], [3, 4]], [], [[9, 10, 11], []]],
  layers: [1, 2, 3].map((n) => ({ bias: n / 4, at: { x: n, y: -n }, weights: Array.from({ length: n }, (_, k) => k - n / 2) })),
  items: Array.from({ length: 20 }, (_, k) => ({ w: 1 + ((k * 7) % 5), v: (k * 13) % 11 })),
  meter: new Meter(),
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = (kind: string, text: string): string => {
    used.add(kind)
    return text
  }
  const scalar = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), '-0', 'k'])
  const index = (most: number): string => of([`i % ${most}`, `k % ${most}`, String(below(most)), `(i + k) % ${most}`])
  const road = (): string => of(['roads[i % 7]', 'roads[(i + k) % 7]', 'roads[3]', `even[${index(5)}]`])
  const many = (): string => of(['items', 'items', road()])
  const folded = (value: string): string => `s = s * 0.5 + ${value}`
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${scalar()}`)
    switch (below(16)) {
      case 0:
        return use(
          'gone through',
          `for (const e of ${road()}) ${of([folded('e.w * e.to'), `{ if (e.to > 3) continue; ${folded('e.w')} }`])}`,
        )
      case 1:
        return use('taken apart', `for (const { to, w } of ${road()}) ${folded('to - w')}`)
      case 2:
        return use('by index', `{ const l = ${road()}; for (let j = 0; j < l.length; j++) ${folded('l[j].w + l[j].to * j')} }`)
      case 3:
        return use('may be absent', folded(`(${road()}[${of(['0', '1', '2', 'k', 'i % 4', 'k - 1'])}]?.${of(['w', 'to'])} ?? ${scalar()})`))
      case 4:
        return use(
          'cube',
          of([
            folded(`cube[${index(3)}][${index(2)}][${index(2)}]`),
            `for (let a = 0; a < 2; a++) for (const v of cube[${index(3)}][a]) ${folded('v')}`,
            `{ const [a, b] = cube[${index(3)}]; ${folded('a[1] * b[k % 2]')} }`,
          ]),
        )
      case 5:
        return use('ragged', `for (const l of ragged[${index(3)}]) { ${folded('l.length')}; for (const v of l) ${folded('v')} }`)
      case 6:
        return use(
          'object in object',
          of([
            folded(`layers[${index(3)}].at.x - layers[${index(3)}].bias`),
            `{ const { at, weights } = layers[${index(3)}]; ${folded('at.y * weights.length')}; for (const w of weights) ${folded('w')} }`,
            `for (const layer of layers) ${folded(`layer.weights[0] * layer.at.${of(['x', 'y'])}`)}`,
          ]),
        )
      case 7:
        return use(
          'method',
          of([
            folded(`${many()}.reduce((a, e) => a * 0.5 + e.w, ${scalar()})`),
            folded(`(${many()}.some((e) => e.w > ${scalar()}) ? 1 : 2)`),
            folded(`${many()}.findIndex((e) => e.w > ${below(4)})`),
            `${many()}.forEach((e, n) => { ${folded('e.w * n')} })`,
            folded(`(${many()}.find((e) => e.w > ${below(5)})?.w ?? ${scalar()})`),
          ]),
        )
      case 8:
        return use(
          'kept ones',
          `{ const kept = ${of([
            `${many()}.filter((e) => e.w > ${below(4)})`,
            `[...${many()}]`,
            `${many()}.map((e) => ({ w: e.w * s, n: i }))`,
            `${many()}.map((e, n) => ({ ...e, n }))`,
          ])}; ${of(['', 'kept.reverse();', 'kept.sort((a, b) => a.w - b.w);'])} for (const e of kept) ${folded('e.w')}; s += kept.length }`,
        )
      case 9:
        return use(
          'variable',
          `{ let best = null; for (const e of ${many()}) if (e.w > ${below(3)} && (best === null || e.w ${of(['<', '>'])} best.w)) best = e; ${folded('(best === null ? 3 : best.w)')} }`,
        )
      case 10:
        return use(
          'pushed',
          `{ const l = []; for (const e of ${many()}) if (e.w !== ${below(3)}) l.push(e); while (l.length > 1) ${folded('l.pop().w')} }`,
        )
      case 11:
        return use(
          'places',
          `{ const p = ${of([
            `Array.from({ length: ${of(['4', 'k + 1', 'i % 3 + 1'])} }, (_, n) => ({ v: n * s, n }))`,
            'new Array(3).fill(0).map((_, n) => ({ v: n - s, n }))',
          ])}; for (const q of p) q.v ${of(['+=', '*=', '-='])} ${scalar()}; ${of(['', 'p.push({ v: k, n: 9 });', 'p[0].n--;'])} for (const q of p) ${folded('q.v + q.n')} }`,
        )
      case 12:
        return use('getter', folded(of(['meter.span', 'meter.scaled(k)', 'meter.marks[k % 3] + meter.from'])))
      case 13:
        return use(
          'lists of lists',
          `{ const z = links.map((l) => ${of(['l.map((v, n) => v + n * s)', '[...l]', '[...l, s]', '[...l].reverse()'])}); ${of(['', 'z[k].push(s);', 'z[i % 4].push(i, 2);'])} for (let j = 0; j < 4; j++) { ${folded('z[j].length')}; for (let n = 0; n < z[j].length; n++) ${folded('z[j][n]')} } }`,
        )
      case 14:
        return `for (let n = 0; n < ${1 + below(3)}; n++) { k = n; ${inner()} }`
      default:
        return `if (${scalar()} > ${below(3)}) { ${inner()} } else { ${inner()} }`
    }
  }
  const lines = ['let s = x.get(i), k = 1']
  for (let n = 1 + below(4); n > 0; n--) lines.push(statement(1), 'if (!(Math.abs(s) < 1e300)) s = 0')
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies with captured objects in lists are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'captured objects', draw: bodyText, held: HELD, run: RUN, least: 500 })
}, 1_800_000)

test('a captured object that a list or a variable holds is not changed behind its back, and what is not there fails as in JavaScript', async () => {
  const run = async (body: string) => {
    const f = () => bodyOf(`([i], { x, out }) => { ${body} }`, HELD)
    const { outcome, plan } = await looped(session, f())
    let expected: unknown
    try {
      expected = plain(f())
    } catch (error) {
      expected = (error as Error).message.replace(/ \(reading .*/, '')
    }
    return { outcome, plan, expected }
  }
  const change = await run('const s = items.filter((e) => e.w > 2); if (i < 0) s[0].w = 9; out.set(i, s.length)')
  expect([change.plan.kernel?.target, change.plan.kernel?.because?.[0]?.code]).toEqual(['as-is', 'object-as-value'])
  expect(change.outcome).toStrictEqual(change.expected)
  const best = await run(
    'let best = null; for (const e of items) if (best === null || e.w > best.w) best = e; if (i < 0) best.w = 9; out.set(i, best.w)',
  )
  expect([best.plan.kernel?.target, best.plan.kernel?.because?.[0]?.code]).toEqual(['as-is', 'aliased-object'])
  for (const absent of ['roads[i % 7][1].w', 'roads[i + 3][0].w', 'roads[(i % 2) + 2][0.5].w', 'cube[i % 3][2][0]', 'layers[i].at.x']) {
    const { outcome, plan, expected } = await run(`out.set(i, ${absent})`)
    expect(plan.kernel?.target, absent).toMatch(/^wasm/)
    expect(outcome, absent).toContain(expected)
  }
  const holes: number[][] = []
  holes[0] = [1, 2]
  holes[2] = [3]
  const { plan } = await looped(session, bodyOf('([i], { out }) => { out.set(i, holes[(i % 2) * 2][0]) }', { holes }))
  expect(plan.kernel?.because?.[0]?.message).toBe('The captured object holes is not a constant that the plan can read.')
})

test('a captured object that holds itself is put into lists, with the result of plain JavaScript', async () => {
  const self = { a: 3, me: {} as unknown, within: { again: {} as unknown } }
  self.me = self
  self.within.again = self.within
  const body = bodyOf(
    '([i], { out }) => { const l = [self, self]; l.push(self); out.set(i, l[1].me.within.again.again ? l.length + l[2].a : 0) }',
    {
      self,
    },
  )
  expect((await looped(session, body)).outcome).toStrictEqual(plain(body))
})
