/**
 * Law: a body with objects and arrays that may be absent - variables that hold null or nothing before they hold one, functions and
 * conditions that give one or null - is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, looped, plain } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('optionalObjects.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Hit {
  readonly a: number
  readonly b: number
  constructor(a: number, b: number) {
    this.a = a
    this.b = b
  }
  get sum(): number {
    return this.a * 0.5 - this.b
  }
}
const HELD = {
  Hit,
  points: [
    [1, 2],
    [3, -1],
    [-2, 0.5],
    [0, 4],
  ],
}

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  const nothing = of(['null', 'undefined'])
  const form = of(['literal', 'class', 'array'])
  const [a, b] = form === 'array' ? ['[0]', '[1]'] : ['.a', '.b']
  const names = ['p', 'q']
  const any = (): string => of(names)
  const scalar = (): string => of(['s', 'i', 'x.get(i)', String(below(40) / 4), '-0', 'k'])
  const made = (): string => {
    const [first, second] = [scalar(), of([scalar(), `(${any()}?.${of(form === 'array' ? ['[0]', '[1]'] : ['a', 'b'])} ?? ${scalar()})`])]
    if (form === 'array') return `[${first}, ${second}]`
    return form === 'class' ? `new Hit(${first}, ${second})` : `{ a: ${first}, b: ${second} }`
  }
  const there = (name: string): string =>
    of([
      `${name}`,
      `${name} !== ${nothing}`,
      `${name} != ${of(['null', 'undefined'])}`,
      `!!${name}`,
      `!(${name} === ${nothing})`,
      `${name} && ${scalar()} > 1`,
      `(${scalar()} > 1 && ${name})`,
    ])
  const absent = (name: string): string =>
    of([`!${name}`, `${name} === ${nothing}`, `${name} == null`, `(!${name} || ${name}${a} < ${scalar()})`])
  const given = (or: string): string => {
    const choice = below(7)
    if (choice === 0) return use('a function gives it', `find(${scalar()})`)
    if (choice === 1)
      return use(
        'a condition gives it',
        `(${of(['s', 'i', 'x.get(i)', 'k'])} > ${below(3)} ? ${of([made(), any()])} : ${of([nothing, any()])})`,
      )
    if (choice === 2) return use('or else', `(${any()} ${of(['??', '||'])} ${made()})`)
    if (choice === 3) return any()
    if (choice === 4) return or
    return made()
  }
  const read = (name: string): string =>
    of([`${name}${a}`, `(${name}${a} - ${name}${b})`, form === 'class' ? `${name}.sum` : `${name}${b}`, `use(${name})`])
  const statement = (depth: number): string => {
    const name = any()
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s += ${scalar()}`)
    switch (below(11)) {
      case 0:
        return `${name} = ${given(nothing)}`
      case 1:
        return use('asked whether it is there', `if (${there(name)}) s = s * 0.5 + ${scalar()}; else { ${inner()} }`)
      case 2:
        return use('read where it is there', `if (${of([name, `${name} !== ${nothing}`])}) s = s * 0.5 + ${read(name)}`)
      case 3:
        return use('the best so far', `if (${absent(name)}) ${name} = ${made()}`)
      case 4:
        return use('read if it is there', `s += ${of([`${name} ? ${read(name)} : ${scalar()}`, `(${name} && ${read(name)} > 1) ? 1 : 2`])}`)
      case 5:
        return use('after ?.', `s = s * 0.5 + (${name}?.${form === 'array' ? '[1]' : 'b'} ?? ${scalar()})`)
      case 6:
        return use('a loop while it is there', `for (let n = 0; n < 3 && ${name}; n++) { s += ${read(name)}; ${inner()} }`)
      case 7:
        return `for (let m${depth} = 0; m${depth} < ${1 + below(3)}; m${depth}++) { k = m${depth}; ${inner()} }`
      case 8:
        return use(
          'a constant that may be absent',
          `{ const h = ${given(any())}; if (h) s = s * 0.75 + ${read('h')}; ${inner()}; if (h) s -= ${read('h')} }`,
        )
      case 9:
        return use('not asked', `if (!${name}) ${name} = ${made()}; s = s * 0.5 + ${read(name)}`)
      default:
        return `if (${scalar()} > ${below(3)}) { ${inner()} } else { ${inner()} }`
    }
  }
  const find =
    below(2) === 0
      ? `const find = (v) => { for (const [c, d] of points) if (c > v) return ${form === 'array' ? '[c, d]' : form === 'class' ? 'new Hit(c, d)' : '{ a: c, b: d }'}; return ${nothing} }`
      : `const find = (v) => { if (v > 1) return ${nothing}; let f = ${nothing}; for (const [c, d] of points) if (d < v) f = ${form === 'array' ? '[d, c]' : form === 'class' ? 'new Hit(d, c)' : '{ a: d, b: c }'}; return f }`
  const lines = [
    'let s = x.get(i), k = 1',
    find,
    `const use = (o) => o${a} * 2 - o${b}`,
    `let p = ${of([nothing, made().replace(/\b[pq]\?\.\S+ \?\? /, '')])}`,
    nothing === 'undefined' ? 'let q' : 'let q = null',
  ]
  lines.push(`if (i > 50) { p = ${made()}; q = ${made()} }`) // each may hold an object
  for (let n = 2 + below(5); n > 0; n--) lines.push(statement(2))
  lines.push('if (p) s = s * 0.5 + use(p)', 'if (q) s = s * 0.5 - use(q)')
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used }
}

test('bodies with objects that may be absent are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'optional objects', draw: bodyText, held: HELD, run: RUN, least: 500 })
})

test('a part of what is absent throws what JavaScript throws', async () => {
  const run = async (body: string, places: string): Promise<void> => {
    const text = `([i], { x, out }) => { ${body} }`
    const { outcome, plan } = await looped(session, bodyOf(text, HELD))
    expect(`${plan.kernel?.target}`, text).toMatch(/^wasm/)
    expect(outcome, text).toBe(`The body of the loop over range(20) threw at key [0]: ${places}`)
    expect(() => plain(bodyOf(text, HELD))).toThrow(places)
  }
  await run('let p = null; if (i > 50) p = { a: 1 }; out.set(i, p.a)', "Cannot read properties of null (reading 'a')")
  await run('let p = null; if (i < 50) p = { a: 1 }; if (p) { p = null; out.set(i, p.a) }', "Cannot read properties of null (reading 'a')")
  await run('let p; for (let k = 0; k < i - 9; k++) p = [k, i]; out.set(i, p[1])', "Cannot read properties of undefined (reading '1')")
  await run('let p = { a: 1 }; out.set(i, p.a); p = null; out.set(i, p.a)', "Cannot read properties of null (reading 'a')")
})

test('what stays out says why', async () => {
  const because = async (body: string): Promise<string | undefined> => {
    const { plan } = await looped(session, bodyOf(`([i], { x, out }) => { ${body} }`, HELD))
    return plan.kernel?.because?.map(({ message, cure }) => `${message} ${cure}`).join('\n')
  }
  expect(await because('let p; if (i > 1) p = { a: 1 }; if (i > 2) p = null; out.set(i, p ? 1 : 2)')).toBe(
    'Where it has no object, p is null in one place, and undefined in another. Use null in all places, also as the initial value, as let p = null.',
  )
})
