/**
 * Compiles loop bodies with numbers, truth values and bigints from IR to WebAssembly: a module whose `run`
 * does what the JavaScript kernel does, bit for bit, over the arena's memory.
 *
 *     run(from, to, scratch, lane, [low, high, start of each axis of a box], …captured numbers)
 *
 * Addresses, strides, extents and lengths are imported globals, so that the bytes are the same for other arrays as long
 * as the same subscripts are proved in bounds. Failures call an imported function that throws.
 */
import { defined } from '../../../core/defined.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { Import, KernelModule } from '../../kir/kernelModule.ts'
import type { LocalNames } from '../../kir/text.ts'
import { F64, HIGHEST, isInteger, LOWEST, NotCompiled, type WasmType } from '../expressions/types.ts'
import { draws, drawsApart } from '../math/drawsApart.ts'
import { generatorsOf } from '../math/wasmDraws.ts'
import { withElementBounds } from '../passes/boundHoisting.ts'
import { withCodedTexts } from '../passes/codedTexts.ts'
import { runs } from '../passes/iterationRuns.ts'
import { fewerVersions, versionsOf, withVersions } from '../passes/loopVersioning.ts'
import { withoutUndefined, withPresence } from '../passes/presence.ts'
import { overlappedBody } from '../passes/softwarePipelining.ts'
import { touchAhead } from '../passes/softwarePrefetch.ts'
import { withStencilsWrittenOut } from '../passes/stencils.ts'
import { doublesOf } from './doubles.ts'
import type { LoopFate, ThrownError, WasmTarget } from './wasmCode.ts'
import { firstElements } from './wasmElements.ts'
import { LoopEmitter } from './wasmExpressions.ts'
import { accumulatorEnd, accumulatorStart, elementStart, nextPlace, placeAhead, placeStart, rowStart, stepped } from './wasmIteration.ts'
import { namesOf } from './wasmNames.ts'
import { block } from './wasmStatements.ts'
import { FROM, KernelWriter, MayFail, TO, type WriterParts } from './wasmWriter.ts'

export interface WasmCode {
  readonly module: KernelModule
  readonly imports: readonly Import[]
  /** The errors of `throw` statements, by the number with which they are thrown. */
  readonly errors: readonly ThrownError[]
  readonly parameters: readonly string[]
  readonly simd: boolean
  /** The outcome for each innermost loop. */
  readonly loops: readonly LoopFate[]
  /** The rows that are prefetched, in words. */
  readonly touched?: string
  readonly names: () => LocalNames
}

const PARTS: WriterParts = { block, emitter: (w) => new LoopEmitter(w) }

/** The most rounds of type inference for the locals. */
const MOST_ROUNDS = 16

/** How often versions of loops are written; after each, variables that turned out to be doubles have none. */
const MOST_VERSIONINGS = 3

/** How often types that have settled are narrowed: what is assigned from a local that was narrowed is narrowed after it. */
const MOST_NARROWINGS = 4

/** Compiles a body to a module; returns the reason where there is none. */
export function wasmKernel(given: WasmTarget): WasmCode | { readonly because: string; readonly span: Span | undefined } {
  try {
    const target = targetOf(given)
    const first = compiled(target)
    return 'because' in first ? first : (withIntegers(target, first) ?? first)
  } catch (error) {
    if (error instanceof NotCompiled) return { because: error.message, span: error.span }
    // stack overflow: code is written and read by recursion as deep as its nesting
    if (error instanceof RangeError) return { because: 'it is too large', span: undefined }
    throw error
  }
}

type Compiled = WasmCode & { readonly locals: ReadonlyMap<string, WasmType> }

/** Compiles a body with versions of its loops for integers; undefined where it has none, or their variables turn out to be doubles. */
function withIntegers(target: WasmTarget, { locals, loops }: Compiled): Compiled | undefined {
  // lanes of iterations compute doubles
  if (loops.some(({ nested }) => nested === true)) return undefined
  let versions = versionsOf(target.ir, locals)
  for (let tries = 0; tries < MOST_VERSIONINGS && versions.size > 0; tries++) {
    const { ir, names } = withVersions(target.ir, versions)
    const code = compiled({ ...target, ir })
    if ('because' in code) return undefined
    const isDouble = (held: string | undefined): boolean => held === undefined || !isInteger(code.locals.get(held) ?? F64)
    const others = [...names].map(([loop, held]) => [loop, [...held].filter(([, copy]) => isDouble(copy)).map(([name]) => name)] as const)
    if (others.every(([, doubles]) => doubles.length === 0)) return code
    versions = fewerVersions(target.ir, versions, new Map(others))
  }
  return undefined
}

function compiled(target: WasmTarget): Compiled | { readonly because: string; readonly span: Span | undefined } {
  const elements = firstElements(target)
  const known = elements.size > 0 ? undefined : doublesOf(target)
  const locals = known ?? new Map<string, WasmType>()
  // code written before the types settle is discarded, and vectorization changes no types: drafts are scalar
  let isDraft = known === undefined
  let isPlain = false
  let narrowings = 0
  for (let round = 0; round < MOST_ROUNDS; ) {
    const writer = new KernelWriter(target, locals, elements, PARTS, { round, isDraft, isPlain })
    writer.generators = generatorsOf(writer)
    const body = unlessItMayFail(writer)
    if (body === undefined) {
      isPlain = true
      continue
    }
    writer.settle()
    if (!isDraft && !writer.widened) return { ...moduleOf(writer, body), locals }
    // widened types that have settled are narrowed to the values that are assigned under them
    const narrowed = writer.grows || narrowings === MOST_NARROWINGS ? [] : narrower(writer)
    if (narrowed.length > 0) narrowings++
    for (const [name, type] of narrowed) locals.set(name, type)
    isDraft = writer.grows || narrowed.length > 0
    if (writer.widened) round++
  }
  return { because: 'the types of its variables do not settle', span: undefined }
}

/** Returns the locals whose bounds were widened to 32 bits, with the narrower types of their values. */
function narrower({ given, locals, isDraft }: KernelWriter): readonly (readonly [string, WasmType])[] {
  if (!isDraft) return []
  return [...given].filter(([name, type]) => {
    const held = locals.get(name)
    if (held?.kind !== 'i32' || type.kind !== 'i32') return false
    return (held.high === HIGHEST && type.high < HIGHEST) || (held.low === LOWEST && type.low > LOWEST)
  })
}

function targetOf(given: WasmTarget): WasmTarget {
  const told = withoutUndefined(withPresence(withCodedTexts(given.ir)))
  const ir = draws(told.body) ? drawsApart(told) : told
  return { ...given, ir: withElementBounds({ ...given, ir: withStencilsWrittenOut({ ...given, ir }) }) }
}

/** Writes the body; undefined where an expression may fail while the writer may reorder expressions. */
function unlessItMayFail(w: KernelWriter): Code | undefined {
  try {
    return bodyOf(w)
  } catch (error) {
    if (error instanceof MayFail) return undefined
    throw error
  }
}

/** The most locals of a kernel; engines accept 50,000 in a function. */
const MOST_LOCALS = 40_000

function bodyOf(w: KernelWriter): Code {
  const { shape } = w.target
  const isRun = shape.space === 'box' || (shape.space === 'rows' && !shape.permuted)
  const loop = isRun ? runs(w) : places(w)
  if (w.declared.length > MOST_LOCALS) throw new NotCompiled('it is too large')
  return [w.prologue, accumulatorStart(w), loop, accumulatorEnd(w)]
}

function moduleOf(w: KernelWriter, body: Code): WasmCode {
  const module: KernelModule = { imports: w.imports, parameters: w.parameterTypes, locals: w.declared, body }
  const parameters = w.target.ir.parameters.map((parameter) => parameter.name)
  const { imports, errors, simd, loops } = w
  // lanes of iterations leave few iterations over, and only those are prefetched for
  const touched = loops.some(({ nested }) => nested === true) ? {} : defined({ touched: w.touched })
  return { module, imports, errors, parameters, simd, loops, ...touched, names: namesOf(w) }
}

/** Writes the loop over places, one iteration after another. */
function places(w: KernelWriter): Code {
  w.control.push({ kind: 'other' }, { kind: 'other' }, { kind: 'iteration' })
  const touch = touchAhead(w, TO, () => placeAhead(w))
  const body = overlappedBody(w, w.target.ir.body, nextPlace(w, touch))
  return [
    ...[touch.before, I.block(), I.loop, I.localGet(FROM), I.localGet(TO), OP.i32GeS, I.brIf(1), touch.of(FROM)],
    ...[placeStart(w), elementStart(w), rowStart(w), I.block(), body, OP.end],
    ...[stepped(FROM, 1), I.br(0), OP.end, OP.end],
  ]
}
