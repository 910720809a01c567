/**
 * What the compiler says to programs that are wrong, and that the tests of types hold with `exactOptionalPropertyTypes`
 * off as well, which most programs do not set.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const TSC = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

/** What the compiler prints about files of the project. */
function complaints(files: readonly string[], options: object): string {
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.types-'))
  try {
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions: { ...options, paths: {} }, include: [], files }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const { stdout } = spawnSync(process.execPath, [TSC, '-p', folder, '--pretty', 'false'], {
      encoding: 'utf8',
      timeout: 60_000,
      cwd: folder,
    })
    return stdout
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('types hold without exactOptionalPropertyTypes', () => {
  expect(complaints([join(ROOT, 'src/core/arrays/distArray.test-d.ts')], { exactOptionalPropertyTypes: false })).toBe('')
}, 90_000)

/** The first sentence about one line of a program in which there are tables and a session. */
function complaintsAbout(lines: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.types-'))
  try {
    const head = [
      `import { type DistArray, type Session, sum } from '${join(ROOT, 'src/index.ts')}'`,
      'declare const session: Session',
      'declare const ratings: DistArray<{ user: number; movie: number }>',
      'declare const movies: DistArray<{ movie: number; title: string }>',
      'const W = session.zeros([3, 3])',
    ]
    const file = join(folder, 'program.ts')
    writeFileSync(file, [...head, ...lines, 'export {}'].join('\n'))
    const printed = complaints([file], {})
      .split('\n')
      .filter((line) => /^\S*program\.ts\(/.test(line))
    return lines.map((_, i) =>
      printed
        .filter((line) => line.includes(`program.ts(${head.length + 1 + i},`))
        .map((line) => line.replace(/^.*?: error TS\d+: /, ''))
        .join('\n'),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('each mistake is one sentence, which says what would be right', () => {
  const program = {
    "ratings.join(movies, 'nope')":
      'Argument of type \'"nope"\' is not assignable to parameter of type \'"movie" | JoinFunctions<{ user: number; movie: number; }, { movie: number; title: string; }> | readonly "movie"[]\'.',
    "ratings.join(movies, 'movie', { how: 'outer' })": "Type '\"outer\"' is not assignable to type 'JoinHow | undefined'.",
    "ratings.join(movies, 'movie', { on: 'movie' })":
      'Object literal may only specify known properties, and \'on\' does not exist in type \'{ readonly how?: "inner"; readonly suffix?: "_right"; }\'.',
    'ratings.groupBy((r) => r.user).agg({ total: sum((r) => r.title) })':
      "Property 'title' does not exist on type '{ user: number; movie: number; }'.",
    'session.loop(session.range(3), { W, p: { rate: 1 } }, ([i], { W, p }) => { W.set(i, 0, p.rate) })':
      "Type '{ rate: number; }' is not assignable to type '{ rate: number; } & \"env holds arrays, buffers, accumulators, generators, numbers, booleans, strings, typed arrays and functions, each by its name\"'.",
  }
  expect(complaintsAbout(Object.keys(program))).toEqual(Object.values(program))
}, 90_000)
