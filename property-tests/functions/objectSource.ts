/**
 * Random functions that make small objects and arrays, change their parts, give them to several names and to helpers,
 * copy them, choose between them and put one into another: all that tells an object from a copy of it.
 */
import fc from 'fast-check'

type Parts = {
  readonly number: string
  readonly object: string
  readonly pair: string
  readonly statement: string
  readonly block: string
}

const parts = fc.letrec<Parts>((tie) => {
  const number = tie('number') as fc.Arbitrary<string>
  const object = tie('object') as fc.Arbitrary<string>
  const pair = tie('pair') as fc.Arbitrary<string>
  const block = tie('block') as fc.Arbitrary<string>
  const named = fc.constantFrom('p', 'q', 's', 'w', 'n.in')
  const field = fc.constantFrom('a', 'b')
  const place = fc.constantFrom('0', '1')
  const list = fc.constantFrom('t', 'u', 'v')
  return {
    number: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'n' },
      fc.constantFrom('0', '1', '2', '-1', '0.5', 'r.a', 'r.b', 'x', 'n.k', 't.length', 's.none', 'u[2]'),
      fc.tuple(named, field).map(([o, f]) => `${o}.${f}`),
      fc.tuple(list, place).map(([o, i]) => `${o}[${i}]`),
      fc.tuple(object, field).map(([o, f]) => `(${o}).${f}`),
      fc.tuple(fc.constantFrom('+', '-', '*', '<', '??'), number, number).map(([op, a, b]) => `(${a} ${op} ${b})`),
      fc.tuple(named, field, fc.constantFrom('++', '--')).map(([o, f, op]) => `${o}.${f}${op}`),
      fc.tuple(named, field, number).map(([o, f, a]) => `(${o}.${f} = ${a})`),
      object.map((o) => `bump(${o})`),
    ),
    object: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'o' },
      named,
      fc.tuple(number, number).map(([a, b]) => `({ a: ${a}, b: ${b} })`),
      fc.tuple(number, number).map(([a, b]) => `made(${a}, ${b})`),
      object.map((o) => `turned(${o})`),
      object.map((o) => `same(${o})`),
      fc.tuple(object, number).map(([o, a]) => `larger(${o}, ${a})`),
      fc.tuple(object, number).map(([o, a]) => `({ ...${o}, b: ${a} })`),
      fc.tuple(number, object, object).map(([a, o, z]) => `(${a} ? ${o} : ${z})`),
      fc.constantFrom('({ in: s, k: 1 }).in', '({ in: p, k: 1 }).in'),
    ),
    pair: fc.oneof(
      { maxDepth: 2, depthIdentifier: 'p' },
      list,
      fc.tuple(number, number).map(([a, b]) => `[${a}, ${b}]`),
      list.map((o) => `[...${o}]`),
      list.map((o) => `[${o}[1], ${o}[0]]`),
    ),
    statement: fc.oneof(
      { maxDepth: 3, depthIdentifier: 't' },
      fc.tuple(fc.constantFrom('p', 'q'), object).map(([o, z]) => `${o} = ${z};`),
      fc.tuple(fc.constantFrom('p', 'q'), object).map(([o, z]) => `${o} = ${z};`),
      fc.tuple(named, field, fc.constantFrom('=', '+=', '*='), number).map(([o, f, op, a]) => `${o}.${f} ${op} ${a};`),
      fc.tuple(list, place, fc.constantFrom('=', '+='), number).map(([o, i, op, a]) => `${o}[${i}] ${op} ${a};`),
      pair.map((z) => `u = ${z};`),
      list.map((o) => `[${o}[0], ${o}[1]] = [${o}[1], ${o}[0]];`),
      fc.tuple(list, list).map(([o, z]) => `[${o}[1], ${o}[0]] = ${z};`),
      fc.constantFrom('[p, q] = [q, p];', '({ a: q.b, b: x } = p);', 'n.k++;'),
      object.map((z) => `n.in = ${z};`),
      fc.tuple(object, block).map(([o, b]) => `{ const w = ${o}; ${b} }`),
      fc.tuple(object, block).map(([o, b]) => `{ let w = ${o}; ${b} w = made(x, 1); }`),
      fc.tuple(pair, block).map(([o, b]) => `{ const v = ${o}; ${b} }`),
      fc.tuple(object, block).map(([o, b]) => `{ let { a: x } = ${o}; ${b} }`),
      object.map((o) => `x = bump(${o});`),
      number.map((a) => `x = ${a};`),
      fc.tuple(number, block, block).map(([a, b, c]) => `if (${a}) ${b} else ${c}`),
      fc.tuple(fc.integer({ min: 1, max: 3 }), block).map(([k, b]) => `for (let k = 0; k < ${k}; k++) ${b}`),
      fc.tuple(fc.integer({ min: 1, max: 3 }), object, block).map(([k, o, b]) => `for (let k = 0; k < ${k}; k++) { const w = ${o}; ${b} }`),
    ),
    block: fc.array(tie('statement') as fc.Arbitrary<string>, { minLength: 1, maxLength: 3 }).map((lines) => `{ ${lines.join(' ')} }`),
  }
})

/** `(r) => …` over the rows of `lawContext.ts`, with what all its names hold in the end. */
export const objectSource: fc.Arbitrary<string> = fc.array(parts.statement, { minLength: 1, maxLength: 6 }).map(
  (statements) => `(r, [i, j]) => {
  let x = r.a;
  let p = { a: 1, b: r.b }, q = { a: 2, b: 3 }, u = [r.a, 4];
  const s = { a: 5, b: 6 }, w = { a: 7, b: 8 }, t = [9, 10, 11], v = [12, 13], n = { in: { a: 14, b: 15 }, k: 0 };
  const made = (a, b) => ({ a, b });
  const same = (o) => o;
  const turned = (o) => ({ a: o.b, b: o.a });
  const bump = (o) => { o.a += 1; return o.a; };
  const larger = (o, m) => { if (o.a > m) return { a: o.b, b: m }; return o; };
  ${statements.join('\n  ')}
  return [x, p.a, p.b, q.a, q.b, s.a, s.b, w.a, w.b, t[0], t[1], t[2], u[0], u[1], v[0], v[1], n.in.a, n.in.b, n.k];
}`,
)
