/**
 * Random functions as source text: arithmetic, locals, assignments inside expressions, ifs, loops, switches, helpers
 * that return early and assign outer variables, nulls, strings, NaN, -0, bit operations.
 *
 * They all end: loops count up in variables that nothing else assigns.
 */
import fc from 'fast-check'

/** What the functions capture, in this order. */
export const CAPTURED_NAMES = ['c', 'text', 'table', 'config', 'half', 'clamp'] as const
export const ROW_NAMES = ['a', 'b', 'n', 's', 't'] as const

const NUMBERS = ['0', '1', '2', '3', '-1', '0.5', '-0', 'NaN', 'Infinity', '1e3', '2147483648', '7', '!0', 'void 0', 'null']
const LOCALS = ['x', 'y', 'z']

type Parts = {
  readonly number: string
  readonly string: string
  readonly effect: string
  readonly statement: string
  readonly block: string
}

const parts = fc.letrec<Parts>((tie) => {
  const number = tie('number') as fc.Arbitrary<string>
  const string = tie('string') as fc.Arbitrary<string>
  const statement = tie('statement') as fc.Arbitrary<string>
  const block = tie('block') as fc.Arbitrary<string>
  const local = fc.constantFrom(...LOCALS)
  const leaf = fc.oneof(
    fc.constantFrom(...NUMBERS),
    local,
    fc.constantFrom(
      'r.a',
      'r.b',
      'r.n',
      'r["a"]',
      'i',
      'j',
      'c',
      'config.rate',
      'config.deep.k',
      'table[1]',
      'table.length',
      'text.length',
      'Math.PI',
    ),
  )
  const pair = (make: (a: string, b: string) => string): fc.Arbitrary<string> => fc.tuple(number, number).map(([a, b]) => make(a, b))
  return {
    number: fc.oneof(
      { maxDepth: 5, depthIdentifier: 'n' },
      leaf,
      fc
        .tuple(
          fc.constantFrom('+', '-', '*', '/', '%', '&', '|', '^', '<<', '>>', '>>>', '<', '<=', '===', '!==', '==', '!='),
          number,
          number,
        )
        .map(([op, a, b]) => `(${a} ${op} ${b})`),
      pair((a, b) => `(${a} && ${b})`),
      pair((a, b) => `(${a} || ${b})`),
      pair((a, b) => `(${a} ?? ${b})`),
      fc.tuple(number, number, number).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      fc.tuple(fc.constantFrom('-', '+', '!', '~', 'typeof ', 'void '), number).map(([op, a]) => `(${op}(${a}))`),
      fc
        .tuple(fc.constantFrom('Math.abs', 'Math.floor', 'Math.sqrt', 'Math.trunc', 'Number', 'isNaN', 'Math.sign'), number)
        .map(([f, a]) => `${f}(${a})`),
      pair((a, b) => `Math.max(${a}, ${b})`),
      pair((a, b) => `clamp(${a}, ${b})`),
      number.map((a) => `half(${a})`),
      number.map((a) => `inner(${a})`),
      pair((a, b) => `bump(${a}, ${b})`),
      number.map((a) => `table[${a}]`),
      number.map((a) => `text[${a}]`),
      tie('effect'),
      fc.tuple(tie('effect'), number).map(([e, a]) => `(${e}, ${a})`),
      string.map((s) => `(${s}).length`),
      fc.tuple(string, number).map(([s, a]) => `(${s}).charCodeAt(${a})`),
      fc.constantFrom('r.s?.length', 'r.n?.toFixed(1)'),
      pair((a, b) => `((p, q = ${b}) => p - q)(${a})`),
      pair((a, b) => `[${a}, ${b}][1]`),
      pair((a, b) => `({ p: ${a}, q: ${b} }).p`),
    ),
    string: fc.oneof(
      { maxDepth: 2, depthIdentifier: 's' },
      fc.constantFrom('"q"', '""', 'text', 'String(r.s)', '(r.s ?? "none")', 'String(x)'),
      number.map((a) => `\`<\${${a}}>\``),
      fc.tuple(string, string).map(([a, b]) => `(${a} + ${b})`),
      string.map((s) => `(${s}).toUpperCase()`),
      fc.tuple(string, number).map(([s, a]) => `(${s}).slice(${a})`),
    ),
    effect: fc.oneof(
      fc.tuple(local, fc.constantFrom('=', '+=', '-=', '*=', '|=', '&&=', '||=', '??='), number).map(([x, op, a]) => `(${x} ${op} ${a})`),
      fc.constantFrom('counter++', '++counter', 'counter--', '(counter += 2)'),
      fc.tuple(local, local, number).map(([x, y, a]) => `(${x} = ${y} = ${a})`),
    ),
    statement: fc.oneof(
      { maxDepth: 3, depthIdentifier: 't' },
      fc.tuple(local, fc.constantFrom('=', '+=', '-=', '*=', '^=', '??='), number).map(([x, op, a]) => `${x} ${op} ${a};`),
      tie('effect').map((e) => `${e};`),
      fc.tuple(local, local).map(([x, y]) => `[${x}, ${y}] = [${y}, ${x}];`),
      number.map((a) => `{ let x = ${a.replace(/\bx\b/g, 'y')}; y = x; x += 1; z = x; }`),
      pair((a, b) => `{ const { p, q: [w] } = { p: ${a}, q: [${b}] }; x = p; z = w; }`),
      fc.tuple(number, block, block).map(([a, b, c]) => `if (${a}) ${b} else ${c}`),
      fc.tuple(number, block).map(([a, b]) => `if (${a}) ${b}`),
      fc.tuple(number, statement).map(([a, b]) => `if (${a}) { ${b} return x; }`),
      fc.tuple(number, statement, block).map(([a, b, c]) => `if (${a}) { ${b} return x; } else { y += 1; ${c} }`),
      fc.tuple(leaf, fc.constantFrom('<', '<=', '>', '>='), leaf, block).map(([a, op, b, c]) => `if (!(${a} ${op} ${b})) { x += 1; ${c} }`),
      fc.tuple(leaf, fc.constantFrom('<', '>='), leaf).map(([a, op, b]) => `${a} ${op} ${b} || (y -= 1);`),
      fc.tuple(number, number).map(([a, b]) => `if (${a}) return ${b};`),
      fc.tuple(number, tie('effect')).map(([a, e]) => `${a} && ${e};`),
      fc.tuple(number, tie('effect'), tie('effect')).map(([a, e, f]) => `${a} ? ${e} : ${f};`),
      fc
        .tuple(
          fc.integer({ min: 0, max: 4 }),
          block,
          fc.constantFrom(
            '',
            'if (k === 1) continue;',
            'if (x > 3) break;',
            'if (y) continue outer;',
            'if (z) break outer;',
            'if (k > 2) return k;',
          ),
        )
        .map(([n, b, jump]) => `outer: for (let m = 0; m < 2; m++) { for (let k = 0; k < ${n}; k++) { ${jump} x += k; ${b} y -= m; } }`),
      fc.tuple(fc.integer({ min: 0, max: 3 }), number, block).map(([n, a, b]) => `{ let g = 0; while (g++ < ${n} && ${a}) ${b} }`),
      fc
        .tuple(fc.integer({ min: 0, max: 3 }), block, fc.constantFrom('', 'if (x < 0) continue;', 'if (g > 2) break;'))
        .map(([n, b, jump]) => `{ let g = 0; do { ${jump} ${b} x++; } while (++g < ${n}); }`.replace('x++', 'counter++')),
      fc
        .tuple(block, fc.constantFrom('', 'if (q === 2) break;', 'if (q === 2) continue;'))
        .map(([b, jump]) => `for (const q of table) { ${jump} z += q; ${b} }`),
      fc
        .tuple(number, block, block, block, fc.constantFrom('', 'if (y) break;'))
        .map(([a, b, c, d, jump]) => `switch (${a}) { case 0: case 1: ${jump} ${b} break; case x: ${c} break; default: ${d} }`),
      fc.tuple(block, number).map(([b, a]) => `here: { if (${a}) break here; ${b} }`),
      fc.tuple(number, number).map(([a, b]) => `var v = ${a}; x = v + ${b};`),
      number.map((a) => `if (${a} === 12345) throw new RangeError("far " + x);`),
    ),
    block: fc.array(statement, { maxLength: 3 }).map((lines) => `{ ${lines.join(' ')} }`),
  }
})

/** `(r, [i, j]) => …` with every construct above; parameters and returns of several forms. */
export const functionSource: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(parts.statement, { minLength: 1, maxLength: 5 }),
    parts.number,
    parts.number,
    fc.constantFrom('number', 'object', 'array', 'choice', 'nothing'),
  )
  .map(([statements, a, b, form]) => {
    const end = {
      number: `return ${a};`,
      object: `return { a: ${a}, ...r, x, y };`,
      array: `return [${a}, x, z];`,
      choice: `return ${a} ? ${b} : x;`,
      nothing: '',
    }[form]
    return `(r, [i, j]) => {
  let x = 1, y = r.a, z = -0, counter = 0;
  const inner = (v) => { if (v > 2) return v - 1; if (v === 1) { y = v; return 5; } return v; };
  function bump(v, w) { for (let k = 0; k < 3; k++) { if (k === v) return w; x += k; } return x; }
  ${statements.join('\n  ')}
  ${end}
}`
  })
