import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'

// vitest compiles this file in memory, so the functions stand in files of their own, and other programs run them.

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')
const SOURCE = pathToFileURL(join(ROOT, 'src', 'planner', 'function', 'source', 'source.ts')).href

/** Prints where each call in each function is. */
const PROGRAM = `import { sourceOf } from '${SOURCE}'
import { elsewhere } from './elsewhere.mjs'

const x = { get: (i) => i, set: (i, v) => v }
const model = {
  step(i) { return x.get(i) },
}
const functions = {
  arrow: ([i], { x }) => {
    // a comment that tools leave out

    x.set(i + 1, x.get(i))
  },
  async: async (i) => x.get(i), again: async (i) => x.get(i),
  declared,
  method: model.step,
  expression: function (i) { return x.get(i) },
  names: (v) => { visit(v, functions) }, quoted: (v) => { x.set(v, 'a') },
  elsewhere,
}
function declared(i) {
  return x.get(i)
}
const visit = (node, found) => {
  if (node === null || typeof node !== 'object') return
  if (node.type === 'CallExpression') found(node)
  for (const key of Object.keys(node)) if (key !== 'parent') visit(node[key], found)
}
for (const [name, f] of Object.entries(functions)) {
  const source = sourceOf(f)
  visit(source.node.body, (node) => {
    const { file, line, column, text } = source.spanOf(node)
    console.log(name, file ?? '-', line + ':' + column, text)
  })
}
`
const ELSEWHERE = 'export const elsewhere = (i) => Math.abs(i)\n'

const PLACES = [
  'arrow FILE 12:5 x.set(i + 1, x.get(i))',
  'arrow FILE 12:18 x.get(i)',
  'async FILE 14:23 x.get(i)',
  'again FILE 14:53 x.get(i)', // the same text at another place
  'declared FILE 22:10 x.get(i)',
  'method FILE 6:20 x.get(i)',
  'expression FILE 17:37 x.get(i)',
  'names FILE 18:19 visit(v, functions)',
  "quoted FILE 18:59 x.set(v, 'a')",
  'elsewhere - 1:8 Math.abs(i)', // no frame of its file was on the stack
]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'distarray-location-'))
  writeFileSync(join(folder, 'elsewhere.mjs'), ELSEWHERE)
})
afterAll(() => rmSync(folder, { recursive: true }))

test('places are those of the file that was written, in plain JavaScript', () => {
  writeFileSync(join(folder, 'plain.mjs'), PROGRAM)
  expect(placesIn('plain.mjs')).toEqual(PLACES.map((line) => line.replace('FILE', 'plain.mjs')))
})

test('under tsx, which leaves out comments and renames locals', () => {
  writeFileSync(join(folder, 'typed.mts'), PROGRAM)
  expect(placesIn('typed.mts')).toEqual(PLACES.map((line) => line.replace('FILE', 'typed.mts')))
})

test('of a minified bundle with a source map; without one, of the bundle', () => {
  for (const sourcemap of ['inline', false] as const) {
    writeFileSync(join(folder, 'written.mjs'), PROGRAM)
    const options = { format: 'esm', platform: 'node', minify: true, sourcemap } as const
    buildSync({ ...options, entryPoints: [join(folder, 'written.mjs')], outfile: join(folder, 'bundled.mjs') })
    const places = placesIn('bundled.mjs', sourcemap === false ? [] : ['--enable-source-maps'])
    if (sourcemap === false) expect(places[0]).toMatch(/^arrow bundled\.mjs 1:\d+ \w\.set\(\w\+1,\w\.get\(\w\)\)$/)
    // all names of `names` are other ones there, so nothing shows that it is the same function
    else expect(places.filter(isKnown)).toEqual(PLACES.filter(isKnown).map((line) => line.replace('FILE', 'written.mjs')))
  }
})

test('a text that is not where V8 says gives places within the function', () => {
  const moved = PROGRAM.replace('for (const [name, f]', `Function.prototype.toString = () => '(i) => i.get(i)'\nfor (const [name, f]`)
  writeFileSync(join(folder, 'moved.mjs'), moved)
  const names = ['arrow', 'async', 'again', 'declared', 'method', 'expression', 'names', 'quoted', 'elsewhere']
  expect(placesIn('moved.mjs')).toEqual(names.map((name) => `${name} - 1:8 i.get(i)`))
})

const isKnown = (line: string) => !line.startsWith('names ')

function placesIn(file: string, flags: readonly string[] = []): readonly string[] {
  const args = [...flags, '--import', import.meta.resolve('tsx'), file]
  return execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }).trim().split('\n')
}
