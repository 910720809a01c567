/**
 * Law: a body whose variables and lists hold arrays of its own one after another - swapped, handed on, chosen, made again by loops,
 * changed under every name - gives the bits of plain JavaScript. It is compiled to WebAssembly and runs in parallel, but for a few: those
 * that hold arrays in too many places, and those whose rows of lists get other names while something is written to them.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('movedArrays.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

/** Why a body may run as it stands all the same. */
const REFUSED: readonly string[] = ['local-arrays-held', 'mutates-literal', 'reassigns-value']

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of } = drawing(numbers)
  const used = new Set<string>()
  const use = <T>(kind: string, text: T): T => {
    used.add(kind)
    return text
  }
  let names = 0
  const fresh = (wanted: string): string => `${wanted}${names++}`
  const type = of(['Float64Array', 'Int16Array', 'list', 'list'])
  const variables = ['a', 'b', ...(below(2) === 0 ? ['c'] : [])]
  const constants: string[] = []
  const lists: string[] = []
  const value = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), `${of(variables)}[${below(3)}]`])
  const made = (): string =>
    type === 'list'
      ? of(['[0, i, 2]', '[s, s, s].map((v, k) => v - k)', 'new Array(3).fill(i)', 'Array.from({ length: 3 }, (_, k) => k * i)'])
      : `new ${type}(3)`
  const at = (): string => of(['i % 3', `${below(3)}`, '(i + 1) % 3', 'i & 1'])
  const array = (): string => of([...variables, ...variables, ...constants, ...lists.map((list) => `${list}[${at()}]`)])
  const changed = (name: string): string =>
    of([`${name}[${at()}] = ${value()}`, `${name}[${at()}] += ${value()}`, `${name}[${at()}]--`, `${name}.fill(${value()})`])
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : changed(array()))
    const scope = (work: () => string): string => {
      const [constantsOutside, listsOutside] = [constants.length, lists.length]
      const text = work()
      constants.length = constantsOutside
      lists.length = listsOutside
      return `{ ${text} }`
    }
    const [one, other] = [of(variables), of(variables)]
    switch (below(16)) {
      case 0:
        return use('swapped', `[${one}, ${other}] = [${other}, ${one}]`)
      case 1:
        return use('swapped by a third', `{ const t = ${one}; ${one} = ${other}; ${other} = t }`)
      case 2:
        return use('handed on', `${one} = ${array()}`)
      case 3:
        return use(
          'made again',
          `for (let q = 0; q < ${1 + below(4)}; q++) ${scope(() => {
            const name = fresh('made')
            const first = `const ${name} = ${made()}`
            constants.push(name)
            return `${first}; ${changed(name)}; s = s * 0.5 + ${name}[q % 3]; ${of([`${one} = ${name}`, inner(), `if (q % 2) ${one} = ${name}`])}`
          })}`,
        )
      case 4:
        return use('chosen', `${one} = x.get(i) > ${below(3)} ? ${other} : ${of(variables)}`)
      case 5: {
        const name = fresh('kept')
        const text = use('kept', `const ${name} = ${array()}`)
        constants.push(name)
        return text
      }
      case 6:
        return use(
          'gone through',
          `for (const v of ${one}) { s = s * 0.5 + v; ${of(['', `[${one}, ${other}] = [${other}, ${one}]`, changed(other)])} }`,
        )
      case 7: {
        const name = fresh('list')
        const text = use('a list of them', `const ${name} = [${array()}, ${array()}, ${array()}]; s += ${name}[${at()}][i % 2]`)
        lists.push(name)
        return `${text}; ${name}[i % 3] = ${array()}`
      }
      case 8:
        if (lists.length === 0) return changed(one)
        return use('places swapped', of([`[${of(lists)}[${at()}], ${one}] = [${other}, ${array()}]`, `${of(lists)}[${at()}] = ${array()}`]))
      case 9:
        return use('moved while assigned', `${one}[${at()}] ${of(['=', '+='])} (swap(), ${value()})`)
      case 10:
        return use('given to a function', `step(${array()}, ${array()})`)
      case 11:
        return use('made by a function', `${one} = next(${array()})`)
      case 12:
        return `if (${value()} > ${below(4)}) ${scope(inner)}${of(['', ` else ${scope(inner)}`])}`
      case 13:
        return `for (let k = 0; k < ${1 + below(3)}; k++) ${scope(() => `${inner()}; ${inner()}`)}`
      default:
        return use('changed', changed(array()))
    }
  }
  const lines = ['let s = x.get(i)', ...variables.map((name) => `let ${name} = ${made()}`)]
  lines.push('const swap = () => { [a, b] = [b, a] }', 'const step = (p, q) => { p[i % 3] = q[1] + s; s += p[0] }')
  lines.push(`const next = (p) => { const made = ${made()}; for (let k = 0; k < 3; k++) made[k] = p[2 - k] * 2; return made }`)
  if (below(3) === 0) {
    use(
      'rows of a table',
      lines.push(
        `const M = ${of(['Array.from({ length: 3 }, (_, r) => [r, s, i])', '[[1, s, 2], [i, 3, 4], [5, 6, s]]', 'Array.from({ length: 3 }, () => new Float32Array(3))'])}`,
      ),
    )
    for (let n = 1 + below(3); n > 0; n--)
      lines.push(
        of([
          `[M[${at()}], M[${at()}]] = [M[2], M[${at()}]]`,
          `M[${at()}] = M[${at()}]`,
          `{ const row = M[${at()}]; M[1][${at()}] = s; s += row[${at()}] }`,
          `M.reverse()`,
          `{ let row = M[0]; for (let k = 0; k < 3; k++) { s = s * 0.5 + row[k]; row = M[k] } }`,
        ]),
      )
    lines.push('for (const row of M) for (const v of row) s = s * 0.75 + v')
  }
  for (let n = 2 + below(3); n > 0; n--) lines.push(statement(1))
  for (const name of variables) lines.push(`s = s * 0.5 + ${name}[0] - ${name}[1] * 3 + ${name}[2] * 7`)
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies that move arrays are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 20, maxLength: 90 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, {}))
      const code = plan.kernel?.target === 'as-is' ? plan.kernel.because?.[0]?.code : undefined
      const isRefused = code !== undefined && REFUSED.includes(code)
      if (!isRefused) expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, {})))
      for (const one of [...used, isRefused ? 'refused' : 'compiled']) counts[one] = (counts[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`moved arrays: ${JSON.stringify(counts)}`)
  if (RUN.numRuns < 500) return
  const { refused = 0, ...others } = counts
  expect(Math.min(...Object.values(others))).toBeGreaterThan(RUN.numRuns / 100)
  expect(refused).toBeLessThan(RUN.numRuns / 20)
}, 600_000)

test('an array of a loop that only a list has any more is not the next that the loop makes', async () => {
  const text = `([i], { x, out }) => {
    const a = [x.get(i), 1, 2]
    const kept = [a, a, a]
    for (let q = 0; q < 6; q++) {
      const made = [q, i, q]
      if (q === 1) kept[0] = made
      if (q === 3) kept[2] = made
      made[2] += q
    }
    out.set(i, kept[0][0] + 10 * kept[0][2] + 100 * kept[2][0] + 1000 * kept[2][2] + kept[1][1])
  }`
  const { outcome, plan } = await looped(session, bodyOf(text, {}))
  expectCompiled(plan, text)
  expect(outcome).toStrictEqual(plain(bodyOf(text, {})))
})
