/**
 * Law: what is read of a function's captured variables is what the function sees, however often it was read, in whatever
 * scopes of a module they are declared, and whoever assigns them in between.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCaptures } from '../src/planner/function/captures/captures.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('lastingNames.prop.ts')
/** More than it takes for the text to be read. */
const LOOKS_AT_ONCE = 6
const NAMES = ['a', 'b', 'c'] as const
type Name = (typeof NAMES)[number]

type Statement =
  | { readonly kind: 'declare'; readonly name: Name; readonly how: 'const' | 'let' | 'bare' | 'var' }
  /** Assigns now, or whenever the test asks for it; by an eval perhaps. */
  | { readonly kind: 'assign'; readonly name: Name; readonly when: 'now' | 'later' | 'eval' }
  /** A function that captures all names. */
  | { readonly kind: 'capture' }
  | { readonly kind: 'block'; readonly of: 'block' | 'call' | 'for of' | 'for' | 'default'; readonly name: Name; readonly body: Body }
type Body = readonly Statement[]

const name = fc.constantFrom(...NAMES)
const { body } = fc.letrec<{ body: Body; block: Statement }>((tie) => ({
  block: fc.record({
    kind: fc.constant('block' as const),
    of: fc.constantFrom('block' as const, 'call', 'for of', 'for', 'default'),
    name,
    body: tie('body'),
  }),
  body: fc.array(
    fc.oneof(
      { depthSize: 'small' },
      fc.constant({ kind: 'capture' } as const),
      fc.record({ kind: fc.constant('declare' as const), name, how: fc.constantFrom('const' as const, 'let', 'bare', 'var') }),
      fc.record({ kind: fc.constant('assign' as const), name, when: fc.constantFrom('now' as const, 'later', 'later', 'later', 'eval') }),
      tie('block'),
    ),
    { maxLength: 6 },
  ),
}))

interface Around {
  readonly isFunction: boolean
  /** What only a `var` may declare again. */
  readonly params: readonly Name[]
}

function textOf(statements: Body, around: Around): string {
  const taken = new Set<Name>()
  return statements.map((statement) => textOfStatement(statement, taken, around)).join('\n')
}

/** `taken`: what its block declares already. */
function textOfStatement(statement: Statement, taken: Set<Name>, { isFunction, params }: Around): string {
  switch (statement.kind) {
    case 'declare': {
      const { name, how } = statement
      if (taken.has(name) || (how !== 'var' && params.includes(name)) || (how === 'var' && !isFunction)) return ''
      taken.add(name)
      return how === 'bare' ? `let ${name}` : `${how} ${name} = next()`
    }
    case 'assign': {
      const assigned = `${statement.name} = next()`
      const tried = `try { ${statement.when === 'eval' ? `eval('${assigned}')` : assigned} } catch {}`
      return statement.when === 'now' ? tried : `later(() => { ${tried} })`
    }
    case 'capture':
      return 'capture(() => [a, b, c])'
    case 'block':
      return textOfBlock(statement)
  }
}

function textOfBlock({ of, name, body }: Statement & { readonly kind: 'block' }): string {
  const block = textOf(body, { isFunction: false, params: [] })
  switch (of) {
    case 'block':
      return `{ ${block} }`
    case 'call':
      return `;((${name}) => { capture(() => [a, b, c]); ${textOf(body, { isFunction: true, params: [name] })} })(next())`
    case 'for of':
      return `for (const ${name} of [next(), next()]) { ${block} }`
    case 'for':
      return `for (let ${name} = 0; ${name} < 2; ${name}++) { ${block} }`
    case 'default':
      return `;((f = () => [a, b, c]) => { capture(f); ${textOf(body, { isFunction: true, params: [] })} })()`
  }
}

let imported = 0

test('names are read as the function sees them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(...NAMES.map(() => fc.constantFrom('const', 'let', 'export let', 'export const'))),
      body,
      fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
      async (kinds, body, changes) => {
        const declared = kinds.map((kind, i) => `${kind} ${NAMES[i]} = ${-1 - i}`).join('\n')
        const text = `${declared}\nexport function make(capture, later, next) { ${textOf(body, { isFunction: true, params: [] })}\n}`
        const { make } = (await import(`data:text/javascript,${encodeURIComponent(`${text}\n// ${imported++}`)}`)) as {
          make(capture: (f: () => unknown[]) => void, later: (change: () => void) => void, next: () => number): void
        }
        const functions: (() => unknown[])[] = []
        const later: (() => void)[] = []
        let values = 0
        make(
          (f) => {
            functions.push(f)
            for (let look = 0; look < LOOKS_AT_ONCE; look++) check(f, text)
          },
          (change) => later.push(change),
          () => ++values,
        )
        for (const change of changes) {
          for (const f of functions) check(f, text)
          later[change % Math.max(1, later.length)]?.()
        }
        for (const f of functions) check(f, text)
      },
    ),
    RUN,
  )
})

function check(f: () => unknown[], text: string): void {
  let seen: unknown[]
  try {
    seen = f()
  } catch {
    readCaptures(f, new Set(NAMES))
    return // a variable that is not initialized yet
  }
  const read = readCaptures(f, new Set(NAMES))
  expect('values' in read ? NAMES.map((name) => read.values.get(name)) : read, text).toEqual(seen)
}
