/**
 * The text of a kernel is its code: wabt, an assembler of other people, makes the same bytes of it. That holds for every
 * instruction there is, and for the kernels of random bodies over loops and over columns, with addresses of 32 bits and of
 * 64, whose types it checks.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import wabt from 'wabt'
import type { ElementType } from '../src/core/data/schema.ts'
import type { FunctionIr, UserFunction } from '../src/core/ir/functionIr.ts'
import type { AnalyzedLoop, EnvBinding, LoopOver, Precision } from '../src/core/loop/loopSpec.ts'
import { listKernel } from '../src/exec/kernels/columns/listKernel.ts'
import { compiled } from '../src/exec/kernels/columns/programShape.ts'
import { selectKernel, valuesKernel } from '../src/exec/kernels/columns/wasmColumns.ts'
import type { Code, Instruction, Plain } from '../src/exec/kir/instructions.ts'
import type { KernelModule } from '../src/exec/kir/kernelModule.ts'
import { ATOMIC_OPERATIONS, SATURATING_OPERATIONS, SCALAR_OPERATIONS, VECTOR_OPERATIONS } from '../src/exec/kir/operations.ts'
import { withAddresses } from '../src/exec/kir/passes/wideAddresses.ts'
import { kernelText } from '../src/exec/kir/text.ts'
import { kernelForecast } from '../src/exec/loops/kernelForecast.ts'
import type { KernelPlan } from '../src/exec/loops/kernelPlan.ts'
import { moduleBytes } from '../src/exec/wasm/wasmEncoder.ts'
import { irListing } from '../src/planner/function/irText.ts'
import type { Step } from '../src/planner/physical/physicalPlan.ts'
import { COLUMN_TYPES, numberFunction, truthFunction } from './arbitraries/columnFunction.ts'
import { COLUMNS, NUMERIC_ARRAYS, TWIN } from './arbitraries/numericArrays.ts'
import { type NumericElement, numericBody } from './arbitraries/numericBody.ts'
import { announcedRun } from './lawRuns.ts'
import { relaxedSimd } from './relaxedEngine.ts'

const RUN = announcedRun('wasmText.prop.ts')
// Relaxed kernels need an engine that runs them; their instructions are assembled either way.
const PRECISIONS: readonly Precision[] = relaxedSimd('wasmText.prop.ts') ? ['exact', 'fast', 'relaxed'] : ['exact', 'fast']
const FEATURES = { memory64: true, simd: true, relaxed_simd: true, threads: true, sat_float_to_int: true, sign_extension: true }
const assembler = await wabt()

test('every instruction is printed as what it is', () => {
  const operations = [SCALAR_OPERATIONS, SATURATING_OPERATIONS, VECTOR_OPERATIONS, ATOMIC_OPERATIONS].flatMap((table) => [
    ...table.values(),
  ])
  const floats = [0.1, -0, Number.NaN, Number.NEGATIVE_INFINITY, 5e-324, 1.7976931348623157e308, 2 ** 53]
  const integers = [0, 63, 64, -64, -65, 2 ** 31 - 1, -(2 ** 31)]
  const body: Code = [
    // Alignment, offset and lane that each differ from what is not written down; atomics are aligned.
    ...operations.map((operation): Plain => {
      const alignment = operation.prefix === 0xfe ? Math.log2(operation.bytes) : 0
      return { kind: 'plain', operation, offset: 300, alignment, lane: 1 }
    }),
    ...floats.map((value): Instruction => ({ kind: 'const', type: 'f64', value })),
    ...integers.map((value): Instruction => ({ kind: 'const', type: 'i32', value })),
    ...[...integers, -(2 ** 53), 2n ** 63n - 1n, -(2n ** 63n)].map((value): Instruction => ({ kind: 'const', type: 'i64', value })),
    { kind: 'vector', bytes: Array.from({ length: 16 }, (_, i) => 17 * i) },
    { kind: 'shuffle', bytes: Array.from({ length: 16 }, (_, i) => 31 - i) },
  ]
  const kernel: KernelModule = { imports: [], parameters: ['i32'], locals: ['v128', 'v128', 'i64', 'f32'], body }
  expect(reassembled(kernelText(kernel), { isValid: false })).toEqual(codeOf(moduleBytes(kernel)))
  expect(operations.length).toBe(3 + 152 + 8 + 234 + 20 + 1)
})

test('the text of a loop’s kernel is assembled to its code', () => {
  let modules = 0
  const elements = fc.constantFrom<NumericElement>('none', 'box', 'number', 'row')
  let contracted = 0
  const precisions = fc.constantFrom(...PRECISIONS)
  const loops = fc
    .tuple(elements, precisions)
    .chain(([element, precision]) =>
      numericBody(element, precision === 'exact' ? undefined : 'single').map((ir) => ({ ir, element, precision })),
    )
  fc.assert(
    fc.property(loops, ({ ir, element, precision }) => {
      const plan = kernelOf(ir, element, precision)
      if (plan === undefined || 'because' in plan.wasm) return
      modules++
      if (plan.wasm.loops.some(({ text }) => text.includes('contracted'))) contracted++
      const { kernel } = plan.wasm
      if (reassembled(plan.wasm.text()) !== codeOf(moduleBytes(kernel))) throw new Error(irListing(ir))
      const wide = withAddresses(kernel, 'i64')
      if (reassembled(kernelText(wide)) !== codeOf(moduleBytes(wide))) throw new Error(`64-bit addresses: ${irListing(ir)}`)
    }),
    RUN,
  )
  expect(modules).toBeGreaterThan(0.7 * RUN.numRuns)
  if (PRECISIONS.includes('relaxed')) expect(contracted).toBeGreaterThan(0.02 * RUN.numRuns)
})

test('the text of kernels over columns is assembled to their code', () => {
  const columns = Object.values(COLUMN_TYPES).map((kind, i) => ({ type: { kind }, nullable: i % 3 !== 0 }))
  const fields = Object.entries(COLUMN_TYPES).map(([name, kind], i) => ({ name, type: { kind }, nullable: i % 3 !== 0 }))
  const element: ElementType = { kind: 'row', fields }
  let modules = 0
  fc.assert(
    fc.property(truthFunction, numberFunction, fc.boolean(), (filter, map, asDoubles) => {
      const steps: Step[] = [
        { kind: 'FilterExec', f: functionOf(filter) },
        { kind: 'MapExec', f: functionOf(map), element: { kind: 'unknown' } },
      ]
      for (const kernel of [
        compiled(() => selectKernel(element, columns, steps, { skipsNulls: asDoubles })),
        compiled(() => valuesKernel(element, columns, steps, { outputs: ['value'], asDoubles, sparse: true })),
        compiled(() => listKernel(element, columns, steps, { parts: ['value'], copied: ['value'], recordBytes: 24, selected: asDoubles })),
      ]) {
        if ('because' in kernel) continue
        modules++
        for (const addresses of ['i32', 'i64'] as const) {
          const module = withAddresses(kernel.module, addresses)
          if (reassembled(kernelText(module, kernel.names)) !== codeOf(moduleBytes(module)))
            throw new Error(`${addresses}: ${irListing(filter)}\n${irListing(map)}`)
        }
      }
    }),
    RUN,
  )
  // two or three of each pair of functions, where both are compiled
  expect(modules).toBeGreaterThan(0.5 * RUN.numRuns)
})

function functionOf(ir: FunctionIr): UserFunction {
  return { original: () => undefined, text: 'f', span: ir.span, ir, refusals: [] }
}

/** The code section that the assembler makes of a text, as hexadecimal digits. It takes no code whose types do not fit. */
function reassembled(text: string, { isValid } = { isValid: true }): string {
  const module = assembler.parseWat('kernel.wat', text, FEATURES)
  try {
    if (isValid) module.validate(FEATURES)
    return codeOf(module.toBinary({}).buffer)
  } finally {
    module.destroy()
  }
}

const CODE = 10

function codeOf(bytes: Uint8Array): string {
  for (let at = 8; at < bytes.length; ) {
    const id = bytes[at++]
    let size = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = bytes[at++] ?? 0
      size += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    if (id === CODE) return Buffer.from(bytes.subarray(at, at + size)).toString('hex')
    at += size
  }
  throw new Error('A module has no code.')
}

/** The kernel of a body over arrays that are not there; undefined where there is none. */
function kernelOf(ir: FunctionIr, element: NumericElement, precision: Precision): KernelPlan | undefined {
  const bindings = [...Object.entries(NUMERIC_ARRAYS), [TWIN, NUMERIC_ARRAYS.grid] as const].map(([name, of], i): [string, EnvBinding] => {
    const [dtype, shape] = of ?? ['f64', []]
    const array = name === TWIN ? 1 : i + 1
    return [name, { kind: 'array', array, dtype, storage: 'dense', rank: shape.length, shape, label: name }]
  })
  const analyzed: AnalyzedLoop = {
    spec: {
      body: { original: () => undefined, text: '', span: ir.span, ir, refusals: [] },
      over: overOf(element),
      env: Object.fromEntries(bindings),
      options: { precision },
    },
    plan: {
      ...{ order: 'serial', schedule: { kind: 'serial', axes: [], blocks: [], reason: '' }, rejected: [], dependences: [], variables: [] },
      ...{ accesses: [], kernel: { target: 'js' }, execution: { where: 'caller', because: '' }, prefetch: [] },
    },
    ...{ schedule: { kind: 'serial' }, ir, reducedArrays: [], privateArrays: [], writtenArrays: [], writesElement: true, notes: [] },
  }
  const accumulators = new Map([
    ['sum', 'sum'],
    ['least', 'min'],
    ['most', 'max'],
    ['calls', 'count'],
  ] as const)
  return kernelForecast({ analyzed, accumulators, rngs: new Map(), buffers: new Map() })?.plans[0]
}

function overOf(element: NumericElement): LoopOver {
  const scalar = { kind: 'scalar', type: { kind: 'f64' }, nullable: false } as const
  const fields = (['n', 'single'] as const).map((name) => ({ name, type: { kind: 'f64' }, nullable: false }) as const)
  switch (element) {
    case 'none':
      return { kind: 'range', rank: 1, extents: [COLUMNS], label: 'keys' }
    case 'box':
      return { kind: 'range', rank: 2, extents: [2, COLUMNS], label: 'keys' }
    case 'number':
      return { kind: 'dense', array: 0, element: scalar, rank: 1, extents: [COLUMNS], label: 'numbers' }
    case 'row':
      return { kind: 'table', array: 0, element: { kind: 'row', fields }, rank: 1, extents: [COLUMNS], label: 'rows' }
  }
}
