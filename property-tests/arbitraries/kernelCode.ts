/**
 * Kernels of random code that engines take: locals of all types, operations of all tables, blocks, loops that end. Memory is
 * reached by addresses below its end only, and nothing fails.
 */
import fc from 'fast-check'
import { type Code, I, type Instruction, OP, type Plain, SIMD, type ValueType } from '../../src/exec/kir/instructions.ts'
import type { Import, KernelModule } from '../../src/exec/kir/kernelModule.ts'
import { type Operation, SATURATING_OPERATIONS, SCALAR_OPERATIONS, VECTOR_OPERATIONS } from '../../src/exec/kir/operations.ts'

export const TYPES: readonly ValueType[] = ['i32', 'i64', 'f32', 'f64', 'v128']
/** The parameter: a number. */
const PARAMETER = 0
/** Locals of a type, which statements set, and those that count the iterations of a loop at some depth. */
const EACH = 8
const MOST_DEPTH = 3
const localOf = (type: ValueType, number: number): number => 1 + EACH * TYPES.indexOf(type) + number
const counterOf = (depth: number): number => 1 + EACH * TYPES.length + depth
const LOCALS: readonly ValueType[] = [
  ...TYPES.flatMap((type) => new Array<ValueType>(EACH).fill(type)),
  ...new Array<ValueType>(MOST_DEPTH).fill('i32'),
]

/** A function of its argument. */
export const HALF: Import = { kind: 'function', name: 'half', parameters: ['f64'], results: ['f64'] }

/** What neither fails nor differs between engines, by the type that it gives. */
const OPERATIONS: ReadonlyMap<ValueType, readonly Operation[]> = new Map(
  TYPES.map((type) => [
    type,
    [SCALAR_OPERATIONS, SATURATING_OPERATIONS, VECTOR_OPERATIONS]
      .flatMap((table) => [...table.values()])
      .filter(({ name, gives }) => gives === type && !/relaxed|^i\d\d\.(div|rem|trunc_f)/.test(name)),
  ]),
)

/** Bytes that an address may be below, and bytes of memory with those behind it. */
const ADDRESSES = 1024
export const MEMORY_BYTES = 65536

/** A value below the end. */
const addressCode = (depth: number): fc.Arbitrary<Code> =>
  valueCode('i32', depth).map((code) => [code, I.i32Const(ADDRESSES - 1), OP.i32And])

function constantCode(type: ValueType): fc.Arbitrary<Code> {
  switch (type) {
    case 'i32':
      return fc.integer().map((value) => I.i32Const(value))
    case 'i64':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => I.i64Const(value))
    case 'f32':
      return fc.double({ noNaN: true }).map((value) => [I.f64Const(value), OP.f32DemoteF64])
    case 'f64':
      return fc.double({ noNaN: true }).map((value) => I.f64Const(value))
    case 'v128':
      return fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 16, maxLength: 16 }).map((bytes) => [{ kind: 'vector', bytes }])
  }
}

function valueCode(type: ValueType, depth: number): fc.Arbitrary<Code> {
  const leaves = [constantCode(type), fc.nat(EACH - 1).map((number) => I.localGet(localOf(type, number)))]
  if (type === 'i32') leaves.push(fc.constant(I.localGet(PARAMETER)))
  if (depth === 0) return fc.oneof(...leaves)
  const inner = [
    fc.constantFrom(...(OPERATIONS.get(type) ?? [])).chain((operation) => operationCode(operation, depth - 1)),
    fc
      .tuple(valueCode(type, depth - 1), valueCode(type, depth - 1), valueCode('i32', depth - 1))
      .map((parts): Code => [...parts, OP.select]),
    fc
      .tuple(valueCode('i32', depth - 1), valueCode(type, depth - 1), valueCode(type, depth - 1))
      .map(([test, then, otherwise]): Code => [test, I.if(type), then, OP.else, otherwise, OP.end]),
    fc.tuple(fc.nat(EACH - 1), valueCode(type, depth - 1)).map(([number, code]): Code => [code, I.localTee(localOf(type, number))]),
  ]
  if (type === 'f64') inner.push(valueCode('f64', depth - 1).map((code): Code => [code, I.call(0)]))
  return fc.oneof(...leaves, ...inner)
}

function operationCode(operation: Operation, depth: number): fc.Arbitrary<Code> {
  const { takes, immediate, name } = operation
  const operands = takes.map((type, i) =>
    i === 0 && immediate.startsWith('memory') ? addressCode(depth) : valueCode(type ?? 'i32', depth),
  )
  const lanes = Number(/^[if]\d+x(\d+)/.exec(name)?.[1] ?? 2)
  return fc.tuple(fc.tuple(...operands), fc.nat(lanes - 1), fc.nat(64)).map(([parts, lane, offset]): Code => {
    const one: Plain = { kind: 'plain', operation, lane, offset: immediate.startsWith('memory') ? offset : 0, alignment: 0 }
    return [...parts, immediate.endsWith('lane') ? one : { ...one, lane: 0 }]
  })
}

const STORES: readonly (readonly [ValueType, Plain])[] = [
  ['i32', OP.i32Store],
  ['i64', OP.i64Store16],
  ['f32', OP.f32Store],
  ['f64', OP.f64Store],
  ['v128', SIMD.store],
]

/** Statements; `open` blocks are around them, of which a branch leaves one that is no loop. */
function statementCode(depth: number, open: readonly ('block' | 'loop')[]): fc.Arbitrary<Code> {
  const set = fc
    .tuple(fc.constantFrom(...TYPES), fc.nat(EACH - 1))
    .chain(([type, number]) => valueCode(type, 2).map((code): Code => [code, I.localSet(localOf(type, number))]))
  const store = fc
    .constantFrom(...STORES)
    .chain(([type, operation]) => fc.tuple(addressCode(1), valueCode(type, 2)).map(([at, code]): Code => [at, code, I.memory(operation)]))
  const drop = fc.constantFrom(...TYPES).chain((type) => valueCode(type, 1).map((code): Code => [code, OP.drop]))
  const simple = [
    { weight: 5, arbitrary: set },
    { weight: 3, arbitrary: store },
    { weight: 1, arbitrary: drop },
  ]
  const blocks = open.flatMap((kind, i) => (kind === 'block' ? [open.length - 1 - i] : []))
  if (blocks.length > 0) {
    const leave = fc.tuple(fc.constantFrom(...blocks), valueCode('i32', 1)).map(([out, test]): Code => [test, I.brIf(out)])
    simple.push({ weight: 1, arbitrary: leave })
  }
  if (depth === MOST_DEPTH) return fc.oneof(...simple)
  const inside = (kind: 'block' | 'loop'): fc.Arbitrary<Code> => fc.array(statementCode(depth + 1, [...open, kind]), { maxLength: 5 })
  const counted = inside('loop').map((body): Code => {
    const counter = counterOf(depth)
    const next = [I.localGet(counter), I.i32Const(1), OP.i32Add, I.localTee(counter), I.i32Const(3), OP.i32LtU, I.brIf(0)]
    return [I.i32Const(0), I.localSet(counter), I.loop, body, next, OP.end]
  })
  const blocked = inside('block').map((body): Code => [I.block(), body, OP.end])
  const chosen = fc
    .tuple(valueCode('i32', 1), inside('block'), inside('block'))
    .map(([test, then, otherwise]): Code => [test, I.if(), then, OP.else, otherwise, OP.end])
  return fc.oneof(...simple, { weight: 4, arbitrary: counted }, { weight: 1, arbitrary: blocked }, { weight: 1, arbitrary: chosen })
}

/** A kernel that writes what its locals hold in the end. */
export const kernelCode: fc.Arbitrary<KernelModule> = fc.array(statementCode(0, []), { minLength: 1, maxLength: 6 }).map((body) => ({
  imports: [HALF],
  parameters: ['i32'],
  locals: LOCALS,
  body: [body, [0, 1].map((number) => TYPES.map((type) => kept(type, number)))],
}))

/** Two locals of each type are read in the end; the others may turn out to be read by nothing. */
function kept(type: ValueType, number: number): Code {
  const operation = STORES.find(([stored]) => stored === type)?.[1] ?? OP.i32Store
  return [I.i32Const(2 * ADDRESSES + 16 * localOf(type, number)), I.localGet(localOf(type, number)), I.memory(operation)]
}

/** An instruction put in the place of another. */
export const anyInstruction: fc.Arbitrary<Instruction> = fc.oneof(
  fc.constantFrom(...[...SCALAR_OPERATIONS.values(), ...VECTOR_OPERATIONS.values()]).map((operation): Plain => {
    return { kind: 'plain', operation, offset: 0, alignment: 0, lane: 0 }
  }),
  fc.tuple(fc.constantFrom('local.get', 'local.set', 'local.tee'), fc.nat(LOCALS.length + 2)).map(([name, index]): Instruction => {
    return { kind: 'local', name, index }
  }),
  fc.tuple(fc.constantFrom('br', 'br_if'), fc.nat(4)).map(([name, depth]): Instruction => ({ kind: 'branch', name, depth })),
  fc
    .tuple(fc.constantFrom('block', 'loop', 'if'), fc.option(fc.constantFrom(...TYPES), { nil: undefined }))
    .map(([kind, result]): Instruction => {
      return { kind, result }
    }),
  fc.constantFrom<Instruction>(OP.end, OP.else, { kind: 'call', index: 0 }, { kind: 'call', index: 2 }, { kind: 'global', index: 0 }),
)
