/**
 * Decides which calls of loops a checkpoint records, and makes the texts that identify them: a pass that is not run again must have done
 * nothing but write dense arrays and return numbers.
 */
import { createHash } from 'node:crypto'
import type { KeptPass } from '../../core/loop/checkpoint.ts'
import type { PassReport } from '../../core/loop/loopReport.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { planText } from '../../core/plan/tree.ts'
import type { PassResult } from '../../exec/loops/loopRun.ts'
import type { Access } from '../../exec/tables/store/arrayLocks.ts'
import { irText } from '../../planner/function/irText.ts'
import type { Analysis } from './loopAnalysis.ts'

/** The reason why a checkpoint does not record the passes, which then run again; undefined where it does. */
export function whyNotRecorded({ analyzed, bindings }: Analysis, accesses: readonly Access[]): string | undefined {
  if (analyzed.spec.body.ir === undefined || analyzed.plan.kernel.target === 'as-is') return 'its body runs as it stands'
  if ([...bindings.accumulators.values()].some(({ spec }) => typeof spec !== 'string')) return 'it has an accumulator of its own kind'
  if ([...bindings.buffers.values()].some(({ options }) => options.apply !== undefined)) return 'a buffer applies a function of the program'
  for (const { node, mode } of accesses) {
    const { element, keys } = node
    const holdsObjects = element.kind !== 'scalar' || element.type.kind === 'object' || element.type.kind === 'unknown'
    if (mode === 'write' && (holdsObjects || keys.kind !== 'explicit' || !keys.dense))
      return 'it writes an array that is not dense, or holds objects'
  }
  return undefined
}

/** The text that identifies a call: its loop, options, arrays and body, a line for each. */
export function callText(
  { analyzed, bindings }: Analysis,
  { name, over, options }: { readonly name: string; readonly over: string; readonly options: object },
): string {
  const arrays = [...bindings.arrays].map(([name, node]) => `${name}: ${arrayText(node)}`)
  const others = [
    ...[...bindings.buffers].map(([name, { options }]) => `${name}: a buffer ${JSON.stringify(options, plain)}`),
    ...[...bindings.accumulators].map(([name, { spec }]) => `${name}: an accumulator ${JSON.stringify(spec)}`),
    ...[...bindings.rngs].map(([name, seed]) => `${name}: numbers of seed ${seed}`),
  ]
  const { ir } = analyzed.spec.body
  const body = ir === undefined ? [] : irText(ir).split('\n')
  return [`${name}`, `over ${over}`, `options ${JSON.stringify(options, plain)}`, ...arrays, ...others, ...body].join('\n')
}

export function arrayText(node: LogicalPlan): string {
  const init = node.kind === 'Array' ? ` ${node.dtype} ${JSON.stringify(node.init, plain)}` : ''
  return `${planText(node).replaceAll('\n', ' | ')}${init}`
}

/** A JSON replacer that writes values which JSON cannot tell apart as text. */
function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') return String(value)
  return typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))
    ? Object.is(value, -0)
      ? '-0'
      : String(value)
    : value
}

/** A digest of the body with all that it captured. */
export function capturedDigest({ analyzed }: Analysis): string {
  const { ir } = analyzed.spec.body // the IR of the whole body: loops of a schedule may run parts of it
  const hash = createHash('sha256')
  if (ir === undefined) return ''
  hash.update(irText(ir))
  for (const { name, value } of ir.parameters) hash.update(`\n${name} ${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`)
  for (const { value } of ir.tables) {
    hash.update(`\n${value.length} `)
    if (ArrayBuffer.isView(value)) hash.update(new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength).slice())
    else for (let i = 0; i < value.length; i++) hash.update(`${typeof value[i]} ${Object.is(value[i], -0) ? '-0' : String(value[i])}\n`)
  }
  return hash.digest('hex')
}

export function keptPass(
  { number: _, ...report }: PassReport,
  also: Pick<PassResult, 'workers'> & Pick<KeptPass, 'before' | 'captured' | 'inputs'>,
): KeptPass {
  return { ...report, ...also }
}
