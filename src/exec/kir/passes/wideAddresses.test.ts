import { expect, test } from 'vitest'
import { byteMapKernel, byteSetKernel } from '../../kernels/tables/byteKernels.ts'
import { foldKernel as columnFold, type FoldName } from '../../kernels/tables/foldKernels.ts'
import { foldKernel } from '../../kernels/tables/groupKernels.ts'
import { addKernel, placesKernel } from '../../kernels/tables/groupPassKernels.ts'
import { hashKernel, TEXT_ENTRIES, textIdsKernel, wordIdsKernel } from '../../kernels/tables/idKernels.ts'
import { emitKernel, findKernel, gatherKernel, keepKernel, linkKernel, textsKernel } from '../../kernels/tables/joinKernels.ts'
import {
  codePlacesKernel,
  countCodesKernel,
  countFlagsKernel,
  distinctKernel,
  groupOfKernel,
  hashedGroupsKernel,
  numbersKernel,
  placedGroupsKernel,
  rankedKernel,
  ranksKernel,
  resultsKernel,
  scatterCodesKernel,
} from '../../kernels/tables/partitionKernels.ts'
import { semiKernel } from '../../kernels/tables/semiKernel.ts'
import { type Code, I, OP } from '../instructions.ts'
import type { Import, KernelModule, ParameterType } from '../kernelModule.ts'
import { kernelText } from '../text.ts'
import { withAddresses } from './wideAddresses.ts'

/** The lines of a function whose first parameter is an address, the second a number; with locals of 32 bits. */
function widened(body: Code, parts: { readonly imports?: readonly Import[]; readonly parameters?: readonly ParameterType[] } = {}): string {
  const { imports = [], parameters = ['address', 'i32'] } = parts
  const module: KernelModule = { imports, parameters, locals: ['i32', 'i32', 'f64'], body }
  return kernelText(withAddresses(module, 'i64')).split('\n').slice(1).join('\n').trim()
}

const [BASE, INDEX, LOCAL, OTHER] = [0, 1, 2, 3]

test('an address comes as a double, an index is extended, and its shift is exact', () => {
  const at = [I.localGet(BASE), I.localGet(INDEX), I.i32Const(3), OP.i32Shl, OP.i32Add]
  expect(widened([at, I.localTee(LOCAL), I.localGet(LOCAL), I.memory(OP.f64Load, 8), I.memory(OP.f64Store)])).toMatchInlineSnapshot(`
    "(import "k" "memory" (memory i64 1 262144 shared))
      (func (export "run")
        (param f64) (param i32) (local i64) (local i64) (local f64) (local i64)
        (local.set 5 (i64.trunc_sat_f64_s (local.get 0)))
        (f64.store align=1
          (local.tee 2 (i64.add (local.get 5) (i64.shl (i64.extend_i32_s (local.get 1)) (i64.const 3))))
          (f64.load offset=8 align=1 (local.get 2)))))"
  `)
})

test('what 32 bits wrap stays wrapped: products, and shifts of what another shift makes bytes', () => {
  const index = [I.localGet(INDEX), I.i32Const(7), OP.i32Mul, I.i32Const(30), OP.i32Shl]
  const at = [I.localGet(BASE), index, I.i32Const(3), OP.i32Shl, OP.i32Add]
  expect(widened([at, I.memory(OP.i32Load8U), OP.drop])).toMatchInlineSnapshot(`
    "(import "k" "memory" (memory i64 1 262144 shared))
      (func (export "run")
        (param f64) (param i32) (local i64) (local i64) (local f64) (local i64)
        (local.set 5 (i64.trunc_sat_f64_s (local.get 0)))
        (drop
          (i32.load8_u
            (i64.add
              (local.get 5)
              (i64.shl
                (i64.extend_i32_s (i32.shl (i32.mul (local.get 1) (i32.const 7)) (i32.const 30)))
                (i64.const 3)))))))"
  `)
})

test('a stride and what it is multiplied by are exact, in a local too', () => {
  const imports: Import[] = [
    { kind: 'global', name: 'A0', type: 'address' },
    { kind: 'global', name: 'A0s0', type: 'stride' },
    { kind: 'global', name: 'A0n0', type: 'i32' },
  ]
  const body = [
    ...[I.globalGet(1), I.i32Const(3), OP.i32Shl, I.localSet(LOCAL)],
    ...[I.globalGet(0), I.localGet(INDEX), I.localGet(LOCAL), OP.i32Mul, OP.i32Add, I.memory(OP.f64Load), OP.drop],
    ...[I.globalGet(0), I.localGet(INDEX), I.globalGet(2), OP.i32Mul, OP.i32Add, I.memory(OP.f64Load), OP.drop],
  ]
  expect(widened(body, { imports })).toMatchInlineSnapshot(`
    "(import "k" "memory" (memory i64 1 262144 shared))
      (import "k" "A0" (global $A0 f64))
      (import "k" "A0s0" (global $A0s0 i32))
      (import "k" "A0n0" (global $A0n0 i32))
      (func (export "run")
        (param f64) (param i32) (local i64) (local i64) (local f64) (local i64)
        (local.set 5 (i64.trunc_sat_f64_s (local.get 0)))
        (local.set 2 (i64.shl (i64.extend_i32_s (global.get $A0s0)) (i64.const 3)))
        (drop
          (f64.load align=1
            (i64.add
              (i64.trunc_sat_f64_s (global.get $A0))
              (i64.mul (i64.extend_i32_s (local.get 1)) (local.get 2)))))
        (drop
          (f64.load align=1
            (i64.add
              (i64.trunc_sat_f64_s (global.get $A0))
              (i64.extend_i32_s (i32.mul (local.get 1) (global.get $A0n0))))))))"
  `)
})

test('an address in memory has 64 bits; addresses are compared and told apart by 64', () => {
  const body = [
    ...[I.localGet(BASE), I.addressLoad(8), I.localTee(LOCAL), I.localGet(BASE), OP.i32Eq, I.if()],
    ...[I.localGet(BASE), I.localGet(LOCAL), I.i32Const(8), OP.i32Add, I.addressStore(16), OP.end],
    ...[I.localGet(LOCAL), I.localGet(BASE), OP.i32Sub, I.i32Const(2), OP.i32ShrU, I.localSet(OTHER)],
    ...[I.localGet(BASE), I.localGet(OTHER), I.memory(OP.i32Store, 24)],
  ]
  expect(widened(body)).toMatchInlineSnapshot(`
    "(import "k" "memory" (memory i64 1 262144 shared))
      (func (export "run")
        (param f64) (param i32) (local i64) (local i32) (local f64) (local i64)
        (local.set 5 (i64.trunc_sat_f64_s (local.get 0)))
        (if
          (i64.eq (local.tee 2 (i64.load offset=8 align=4 (local.get 5))) (local.get 5))
          (then (i64.store offset=16 align=4 (local.get 5) (i64.add (local.get 2) (i64.const 8)))))
        (local.set 3 (i32.wrap_i64 (i64.shr_u (i64.sub (local.get 2) (local.get 5)) (i64.const 2))))
        (i32.store offset=24 align=1 (local.get 5) (local.get 3))))"
  `)
})

test('a local that is a number elsewhere has 32 bits, and is extended where it goes into an address', () => {
  const at = (local: number): Code => [I.localGet(BASE), I.localGet(local), OP.i32Add, I.memory(OP.i32Load8U), OP.drop]
  const counted = [I.localGet(INDEX), I.localSet(LOCAL), I.localGet(INDEX), I.localSet(OTHER)]
  expect(widened([counted, at(LOCAL), at(OTHER), I.localGet(OTHER), I.if(), OP.end])).toMatchInlineSnapshot(`
    "(import "k" "memory" (memory i64 1 262144 shared))
      (func (export "run")
        (param f64) (param i32) (local i64) (local i32) (local f64) (local i64)
        (local.set 5 (i64.trunc_sat_f64_s (local.get 0)))
        (local.set 2 (i64.extend_i32_s (local.get 1)))
        (local.set 3 (local.get 1))
        (drop (i32.load8_u (i64.add (local.get 5) (local.get 2))))
        (drop (i32.load8_u (i64.add (local.get 5) (i64.extend_i32_s (local.get 3)))))
        (if
          (local.get 3)
          (then))))"
  `)
})

test('an address that would lose its upper half is a bug, and so is memory that none leads to', () => {
  const load = (at: Code): Code => [at, I.memory(OP.i32Load), OP.drop]
  const [address, number] = [I.localGet(BASE), I.localGet(INDEX)]
  const bugs = [
    load(number),
    load([address, address, OP.i32Add]),
    load([number, address, OP.i32Sub]),
    load([address, I.i32Const(-64), OP.i32And]),
    load([address, I.i32Const(1), OP.i32Shl]),
    [address, I.localSet(INDEX), load(number), I.localGet(INDEX), I.if(), OP.end],
    [address, address, I.memory(OP.i32Store)],
    [address, number, I.if('i32'), address, OP.else, number, OP.end, I.memory(OP.i32Store)],
    [address, I.call(0)],
  ]
  const imports: Import[] = [{ kind: 'function', name: 'f', parameters: ['i32'], results: [] }]
  expect(bugs.map((body) => messageOf(() => widened(body, { imports })))).toMatchInlineSnapshot(`
    [
      "Bug: A kernel reaches memory by what is no address, in i32.load.",
      "Bug: A kernel adds two addresses.",
      "Bug: A kernel takes an address from a number.",
      "Bug: A kernel reaches memory by what is no address, in i32.load.",
      "Bug: A kernel reaches memory by what is no address, in i32.load.",
      "Bug: A kernel keeps an address where a number came.",
      "Bug: A kernel uses an address as a number, by local.get.",
      "Bug: A kernel uses an address as a number, by local.get.",
      "Bug: A kernel uses an address as a number, by local.get.",
    ]
  `)
})

test('every kernel that is written by hand has a twin of 64-bit addresses', () => {
  const folds: FoldName[] = [
    'sum',
    'sum4',
    'least',
    'most',
    'sum64',
    'least64',
    'most64',
    'compact8',
    'compact4',
    'compact2',
    'compact1',
    'compactBits',
  ]
  const types = ['f64', 'f32', 'i64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'] as const
  const truths = [false, true]
  const keyParts = [
    ...types.map((type) => [{ type, nullable: true } as const, { type: 'u8', nullable: false } as const]),
    ...types.map((type) => [{ type, nullable: false } as const]),
  ]
  const kinds = (['sum', 'min', 'max', 'count'] as const).flatMap((kind) =>
    (['f64', 'u16'] as const).flatMap((type) => truths.map((nulls) => ({ kind, type, nulls, counts: nulls && kind !== 'sum' }))),
  )
  const idOptions = truths.flatMap((adds) => truths.map((nullable) => ({ adds, nullable })))
  const compared = (['byte', 'half', 'word', 'f32', 'f64', 'long', 'texts'] as const).flatMap((form) =>
    truths.map((nullable) => ({ form, nullable })),
  )
  const modules = [
    ...folds.map(columnFold),
    ...types.flatMap((type) => truths.flatMap((flag) => semiKernel({ type, nullable: flag, anti: !flag, narrows: flag }))),
    ...truths.map((flag) => byteSetKernel({ nullable: flag, anti: !flag, narrows: flag }, 3)),
    byteMapKernel(3),
    ...keyParts.map(codePlacesKernel),
    ...keyParts.flatMap((parts) =>
      truths.map((flag) => placesKernel({ parts, recordBytes: 24, copied: types, selected: flag, isTouched: !flag })),
    ),
    addKernel({ folds: ['sum', 'min', 'max'] }),
    ...keyParts.map((parts) => addKernel({ folds: ['sum', 'squares'], rows: { parts, recordBytes: 32, types: ['f64', 'u16'] } })),
    linkKernel(),
    textsKernel(),
    ...truths.flatMap((chained) => truths.flatMap((keeps) => [findKernel({ chained, keeps }), emitKernel({ chained, keeps })])),
    ...truths.map((anti) => keepKernel({ anti })),
    ...([0, 1, 2, 3] as const).flatMap((log2) => truths.map((nullable) => gatherKernel(log2, { nullable }))),
    foldKernel(kinds),
    ...[countCodesKernel(), scatterCodesKernel(), placedGroupsKernel(), hashedGroupsKernel(compared), groupOfKernel()],
    ...[countFlagsKernel(), ranksKernel(), rankedKernel(), ...compared.map(distinctKernel)],
    ...(['value', 'mean', 'number', 'count'] as const).map(resultsKernel),
    ...types.flatMap((type) => truths.map((nullable) => numbersKernel(type, nullable))),
    ...compared.flatMap(({ form, nullable }) => truths.map((first) => hashKernel(form, { nullable, first }))),
    ...idOptions.flatMap((options) => [
      ...(['byte', 'half', 'word', 'f32', 'f64', 'long', 'pair'] as const).map((form) => wordIdsKernel(form, options)),
      textIdsKernel(options, TEXT_ENTRIES.i64),
    ]),
  ]
  for (const module of modules) {
    const wide = withAddresses(module, 'i64')
    expect(wide.parameters).toEqual(module.parameters.map((type) => (type === 'address' ? 'f64' : type)))
    expect(wide.locals.length).toBe(module.locals.length + module.parameters.filter((type) => type === 'address').length)
    expect(wide.addresses).toBe('i64')
    expect(withAddresses(module, 'i32')).toBe(module)
  }
})

function messageOf(f: () => unknown): string {
  try {
    f()
  } catch (error) {
    return String(error).split('\n')[0] ?? ''
  }
  return 'nothing was thrown'
}
