import { spawnSync } from 'node:child_process'
import { Session } from 'node:inspector'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext, runInThisContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { sourceOf } from '../source/source.ts'
import { lowerFunction } from '../userFunction.ts'
import { boundTarget, readCaptures } from './captures.ts'

type AnyFunction = (...args: never[]) => unknown
const MODULE_CONSTANT = { deep: [1, 2, 3] }
const ROW = { kind: 'row', method: 'map', inputs: [{ kind: 'scalar', type: { kind: 'f64' }, nullable: false }] } as const

function values(f: AnyFunction, ...names: string[]): unknown {
  const read = readCaptures(f, new Set(names))
  return 'values' in read ? Object.fromEntries(read.values) : read.unreadable
}

test('every kind of value, from block, closure and module scopes, objects by identity', () => {
  const symbol = Symbol('s')
  const captured = { nan: Number.NaN, zero: -0, big: 12n, nothing: null, text: 'x', yes: true, infinite: -Infinity }
  const { nan, zero, big, nothing, text, yes, infinite } = captured
  const typed = Float64Array.of(1)
  {
    const inner = () => typed
    const f = (): unknown => [nan, zero, big, nothing, text, yes, infinite, typed, inner, symbol, MODULE_CONSTANT]
    const read = values(
      f,
      'nan',
      'zero',
      'big',
      'nothing',

      'text',
      'yes',
      'infinite',
      'typed',
      'inner',
      'symbol',
      'MODULE_CONSTANT',
    )
    expect(read).toEqual({ ...captured, typed, inner, symbol, MODULE_CONSTANT })
    expect((read as { typed: unknown }).typed).toBe(typed)
    expect((read as { MODULE_CONSTANT: unknown }).MODULE_CONSTANT).toBe(MODULE_CONSTANT)
    expect(Object.is((read as { zero: unknown }).zero, -0)).toBe(true)
  }
})

test('the innermost of two variables of one name', () => {
  const x = 1
  const f = ((): AnyFunction => {
    const x = 2
    return () => x
  })()
  expect(values(f, 'x')).toEqual({ x: 2 })
  expect(values(() => x, 'x')).toEqual({ x: 1 })
})

test('variables of a with statement around a function are those of its object, without calling what gets them', () => {
  const make = new Function('object', 'const y = 2\nwith (object) { return () => x + y + z }') as (object: object) => AnyFunction
  let asked = 0
  const object = {
    x: 1,
    get z() {
      asked++
      return 3
    },
  }
  expect(values(make(object), 'x', 'y', 'z')).toEqual({ x: 1, y: 2 })
  expect(asked).toBe(0)
})

test('what is undefined or not initialized yet is refused by name with the cure', () => {
  const f = (v: number): number => v + late
  expect(values(f, 'late')).toEqual({ late: undefined })
  expect(lowerFunction(f, ROW).fn.refusals).toEqual([
    {
      code: 'unread-capture',
      message: 'The captured variable late cannot be read: it is undefined, or not initialized yet.',
      cure: 'Pass it in env, as { late }.',
      span: expect.anything(),
    },
  ])
  const late = 1
  expect(values(f, 'late')).toEqual({ late })
  const nothing = undefined
  expect(values(() => nothing, 'nothing')).toEqual({ nothing: undefined })
})

test('nothing is left behind', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const look = (): WeakRef<object> => {
    const x = { large: true }
    expect(values(() => x, 'x')).toEqual({ x })
    return new WeakRef(x)
  }
  const seen = look()
  expect(Reflect.get(Session, Symbol.for('distarray.captureProbe'))).toBe(undefined)
  await setImmediate()
  await setImmediate()
  collect()
  expect(seen.deref()).toBe(undefined)
})

test('once captured values were read the inspector is left, which keeps what is given to the console', async () => {
  const post = vi.spyOn(Session.prototype, 'post')
  const disconnect = vi.spyOn(Session.prototype, 'disconnect')
  const x = 1
  expect(values(() => x, 'x')).toEqual({ x })
  expect(disconnect).not.toHaveBeenCalled()
  await setImmediate()
  await setImmediate()
  expect(disconnect).toHaveBeenCalledTimes(1)
  expect(post.mock.calls.at(-1)?.[0]).toBe('Runtime.discardConsoleEntries')
  vi.restoreAllMocks()
})

test('what changes between two readings is seen, also before the inspector was told to let go', () => {
  let x = 1
  const f = (): number => x
  for (x = 1; x < 200; x++) expect(values(f, 'x')).toEqual({ x })
})

test('a function of a module whose names are all global is looked at once, until a script hides one of them', async () => {
  const text = 'export const f = () => hiddenLater(isNaN)'
  const { f } = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as { f: AnyFunction }
  Reflect.set(globalThis, 'hiddenLater', 1)
  expect(values(f, 'hiddenLater', 'isNaN')).toEqual({})
  const asked = vi.spyOn(Session.prototype, 'post')
  expect(values(f, 'hiddenLater', 'isNaN')).toEqual({})
  expect(asked).not.toHaveBeenCalled()
  asked.mockRestore()
  runInThisContext('let hiddenLater = 2')
  expect(values(f, 'hiddenLater', 'isNaN')).toEqual({ hiddenLater: 2 })
  Reflect.deleteProperty(globalThis, 'hiddenLater')
  expect(values(f, 'hiddenLater', 'isNaN')).toEqual({ hiddenLater: 2 })
})

test('constants of a module, and what nothing in it assigns, are asked for no more', async () => {
  const text =
    'const a = {}\nlet b = 1, d = 1\nexport const set = (v) => { d = v }\nexport const make = (c) => [() => [a, b, c], () => [a, b, c, d]]'
  const module = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as {
    set(v: number): void
    make(c: number): AnyFunction[]
  }
  const [lasting, changing] = module.make(3) as [AnyFunction, AnyFunction]
  const first = values(lasting, 'a', 'b', 'c')
  expect(first).toEqual({ a: {}, b: 1, c: 3 })
  for (let i = 0; i < 10; i++) {
    module.set(i)
    expect(values(lasting, 'a', 'b', 'c')).toEqual(first)
    expect(values(changing, 'a', 'b', 'c', 'd')).toEqual({ a: {}, b: 1, c: 3, d: i })
  }
  const asked = vi.spyOn(Session.prototype, 'post')
  expect((values(lasting, 'a', 'b', 'c') as { a: unknown }).a).toBe((first as { a: unknown }).a)
  expect(asked).not.toHaveBeenCalled()
  expect(values(changing, 'a', 'b', 'c', 'd')).toHaveProperty('d', 9)
  expect(asked).toHaveBeenCalled()
  asked.mockRestore()
})

test('what stands in scopes inside a module only is asked for no more as well', async () => {
  const text = 'export const make = (c) => () => c'
  const { make } = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as { make(c: number): AnyFunction }
  const f = make(3)
  for (let i = 0; i < 10; i++) expect(values(f, 'c')).toEqual({ c: 3 })
  const asked = vi.spyOn(Session.prototype, 'post')
  expect(values(f, 'c')).toEqual({ c: 3 })
  expect(asked).not.toHaveBeenCalled()
  asked.mockRestore()
})

test('what was not initialized yet when the text was read is asked for until it is', async () => {
  const text = 'export const make = (look) => { const f = () => late; for (let i = 0; i < 9; i++) look(f); const late = 7; look(f) }'
  const { make } = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as { make(look: (f: AnyFunction) => void): void }
  const found: unknown[] = []
  make((f) => found.push(values(f, 'late')))
  expect(found).toEqual([...new Array(9).fill({ late: undefined }), { late: 7 }])
})

test('code may be made from text no differently after a module was read', () => {
  expect(() => new Function('return %FunctionGetScriptId(0)')).toThrow(SyntaxError)
})

test('a name that an eval declares later is no global any more', () => {
  const found: unknown[] = []
  const run = new Function('read', 'code', 'const f = () => isNaN; read(f); eval(code); read(f)') as (
    read: (f: AnyFunction) => void,
    code: string,
  ) => void
  run((f) => found.push(values(f, 'isNaN')), 'var isNaN = 5')
  expect(found).toEqual([{}, { isNaN: 5 }])
})

test('bound functions are looked through, unless arguments are bound as well', () => {
  const f = (a: number, b = 2): number => a + b
  expect(boundTarget(f.bind(null))).toBe(f)
  expect(boundTarget(f.bind(null, 1))).toBe(undefined)
  expect(lowerFunction(f.bind(null) as never, ROW).fn.ir).toBeDefined()
  expect(lowerFunction(f.bind(null, 1) as never, ROW).fn.refusals[0]?.code).toBe('native')
  expect(lowerFunction(Math.hypot as never, ROW).fn.refusals[0]?.message).toBe(
    'Its source is not available: it is native, bound, or a proxy.',
  )
})

test('sources of every form parse, others say why not', () => {
  class Thing {
    method(a: number): number {
      return a
    }
    static async *many(): AsyncGenerator<number> {
      yield 1
    }
  }
  const object = {
    short(a: number): number {
      return a
    },
    get: (a: number) => a,
    'computed name'(a: number): number {
      return a
    },
  }
  for (const f of [
    Thing.prototype.method,
    Thing.many,
    object.short,
    object.get,
    object['computed name'],
    function named() {},
    async () => 1,
  ]) {
    expect(sourceOf(f as AnyFunction)).toHaveProperty('node')
  }
  expect(sourceOf(Thing as unknown as AnyFunction)).toBe('class')
  expect(sourceOf(Math.abs as AnyFunction)).toBe('native')
  expect(sourceOf(new Proxy(() => 1, {}) as AnyFunction)).toBe('native')
})

test('under the permission model captures are refused by name, and env still works', () => {
  const program = `
    import { readCaptures } from ${JSON.stringify(new URL('./captures.ts', import.meta.url).href)}
    const x = 1
    console.log(JSON.stringify(readCaptures(() => x, new Set(['x']))))`
  const flag = Number(process.versions.node.split('.')[0]) >= 24 ? '--permission' : '--experimental-permission'
  const tsx = fileURLToPath(new URL('../../../../node_modules/tsx/dist/loader.mjs', import.meta.url))
  const run = spawnSync(
    process.execPath,
    [
      '--no-warnings',
      flag,
      '--allow-fs-read=*',
      '--allow-fs-write=*',
      '--allow-worker',
      '--allow-child-process',
      '--import',
      tsx,
      '--input-type=module',
      '-e',
      program,
    ],
    { encoding: 'utf8' },
  )
  expect(run.stderr).toBe('')
  expect(JSON.parse(run.stdout)).toHaveProperty('unreadable')
})
