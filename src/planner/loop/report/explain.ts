/** Prints the plan of a loop on one screen. */
import { bytesText } from '../../../core/bytesText.ts'
import { NOMINAL_WORKERS } from '../../../core/cost/scheduleCost.ts'
import type { KernelCode } from '../../../core/ir/kernelCode.ts'
import type { Dependence, LoopPlan, LoopVariable } from '../../../core/loop/loopPlan.ts'
import type { AnalyzedLoop } from '../../../core/loop/loopSpec.ts'
import { placeText, type Refusal } from '../../../core/span.ts'
import { irListing, irText } from '../../function/irText.ts'
import { axisNames } from '../accesses/accessText.ts'
import { vectorText } from '../dependence/stepBounds.ts'

/** The result of compiling the body. */
export interface ExplainedKernel {
  /** The outcome of vectorization for each innermost loop, one line each. */
  readonly loops: readonly string[]
  readonly code?: KernelCode
}

/** Prints the plan as text for people, or as JSON: `JSON.stringify(loop.plan)`, indented. `kernel` is printed under its line. */
export function explainLoop(
  analyzed: AnalyzedLoop,
  options: { readonly format?: 'text' | 'json'; readonly kernel?: ExplainedKernel } = {},
): string {
  const { plan, spec } = analyzed
  const { file } = spec.body.span
  if (options.format === 'json') return JSON.stringify(plan, undefined, 2)
  return [
    ...header(analyzed),
    ...section('parts', partLines(plan, file)),
    ...section('variables', variableLines(plan)),
    ...section('accesses', accessLines(plan, file)),
    ...section('dependences', dependenceLines(analyzed)),
    ...section('considered', consideredLines(plan)),
    ...section('rejected', rejectedLines(plan, file)),
    ...section('inspected', inspectedLines(analyzed)),
    ...footer(analyzed, options.kernel),
  ].join('\n')
}

function header({ spec, plan }: AnalyzedLoop): string[] {
  const name = spec.options.name === undefined ? '' : `${spec.options.name}: `
  return [
    `${name}loop over ${spec.over.label}${spec.site === undefined ? '' : ` at ${spec.site}`}, order ${plan.order}`,
    `  ${placeText(spec.body.span, spec.site?.replace(/:\d+$/, ''))}  ${shortened(spec.body.text, 100)}`,
    `schedule ${plan.parts === undefined ? scheduleText(plan) : 'in parts'}: ${plan.schedule.reason}`,
  ]
}

function scheduleText({ schedule }: { readonly schedule: Pick<LoopPlan['schedule'], 'kind' | 'axes' | 'steps'> }): string {
  const { kind, axes, steps } = schedule
  if (axes.length === 0) return kind
  if (steps === undefined) return `${kind} on ${axesText(axes)}`
  const inside = steps.inside === 'independent' ? '' : ` on ${axesText(axes.slice(steps.axes.length))}`
  return `${kind} in steps of ${axesText(steps.axes)}, ${steps.inside}${inside} inside`
}

function axesText(axes: readonly number[]): string {
  return `${axes.length === 1 ? 'axis' : 'axes'} ${axes.join(', ')}`
}

/** Lists the loops of a body that was split, with the statements of each. */
function partLines({ parts = [] }: LoopPlan, file: string | undefined): string[] {
  return parts.flatMap(({ schedule, statements }, at) => [
    `${at + 1}  ${scheduleText({ schedule })}: ${schedule.reason}`,
    ...table(statements.map((span) => [placeText(span, file), shortened(span.text, 100)])).map((line) => `     ${line}`),
  ])
}

function variableLines({ variables }: LoopPlan): string[] {
  return table(variables.map((variable) => [variable.name, variable.class, variable.origin, ...copiesText(variable)]))
}

function copiesText({ private: copies, origin }: LoopVariable): string[] {
  if (copies === undefined) return []
  const size = bytesText(copies.sizeBytes)
  if (origin === 'body') return [`private: ${size} for each worker`]
  return [`private: a copy of ${size} for each worker; that of the last iteration stays`]
}

function accessLines({ accesses }: LoopPlan, file: string | undefined): string[] {
  return table(accesses.map(({ array, kind, subscripts, span }) => [placeText(span, file), kind, `${array}[${subscripts.join(', ')}]`]))
}

/** Lists the dependences, one of each array and vector: a flow dependence if there is one; of the others, the kind alone. */
function dependenceLines({ plan, notes, spec }: AnalyzedLoop): string[] {
  const groups = new Map<string, number[]>()
  for (const [i, { array, vector }] of plan.dependences.entries()) {
    const id = JSON.stringify([array, vector])
    groups.set(id, [...(groups.get(id) ?? []), i])
  }
  return [...groups.values()].flatMap((group) => {
    const shown = group.find((i) => plan.dependences[i]?.kind === 'flow') ?? group[0] ?? 0
    const dependence = plan.dependences[shown]
    const note = notes[shown]
    if (dependence === undefined || note === undefined) return []
    const kinds = [...new Set(group.map((i) => plan.dependences[i]?.kind))]
    return [...dependenceText(dependence, kinds.join(', '), spec.body.span.file), `  ${note.sentence}`]
  })
}

/** Lists what the first run inspects for each iteration: the slice of the body. */
function inspectedLines(analyzed: AnalyzedLoop): string[] {
  if (analyzed.slice === undefined) return []
  return withAxes(irText(analyzed.slice.ir), analyzed)
    .replaceAll(/\bevaluate /g, '')
    .replaceAll(/\] = 0$/gm, '] = …')
    .split('\n')
}

/** Writes components of the key by the names that the body gives them. */
function withAxes(text: string, { spec }: AnalyzedLoop): string {
  const names = axisNames(spec.over.rank, spec.body.ir, spec.body.text)
  return text.replaceAll(/@(\d+)/g, (_, axis: string) => names[Number(axis)] ?? `i${axis}`)
}

function kernelLines(analyzed: AnalyzedLoop, { loops, code }: ExplainedKernel): string[] {
  const { ir } = analyzed
  return [
    ...loops,
    ...(ir === undefined ? [] : section('IR', withAxes(irListing(ir), analyzed).split('\n'))),
    ...(code === undefined ? [] : section(code.language, code.text.split('\n'))),
  ]
}

function dependenceText(dependence: Dependence, kinds: string, file: string | undefined): string[] {
  const { array, from, to } = dependence
  const places = table([
    [placeText(from, file), from.text],
    [placeText(to, file), to.text],
  ])
  return [`${array} ${vectorText(dependence)} ${kinds}`, ...places.map((line) => `  ${line}`)]
}

function rejectedLines({ rejected }: LoopPlan, file: string | undefined): string[] {
  return rejected.flatMap(({ kind, because, edit, inSteps }, i) => {
    const reasons = because.map((reason) => reasonText(reason, file))
    const more = reasons.length > 3 ? [`  and ${reasons.length - 3} more`] : []
    return [
      `${kind}${inSteps === undefined ? '' : ' in steps'}: ${reasons.slice(0, 3).join('; ')}`,
      ...more,
      ...(edit === undefined || edit === rejected[i + 1]?.edit ? [] : [`  edit: ${edit}`]),
    ]
  })
}

/** Most schedules shown of those that lost, beside the freest. */
const MOST_LOSERS = 3

/** Lists what decided between legal schedules: the time of a pass, the blocks, the share on the longest way, and the length of runs. */
function consideredLines({ considered = [] }: LoopPlan): string[] {
  if (considered.length < 2) return []
  const losers = considered.filter(({ taken }, at) => !taken && at > 0)
  const shown = [...losers].sort((a, b) => a.relative - b.relative).slice(0, MOST_LOSERS)
  const lines = table(
    considered
      .filter((one) => !losers.includes(one) || shown.includes(one))
      .map(({ predictedMilliseconds: ms, relative, blocks, run, share, taken, ...schedule }) => [
        scheduleText({ schedule }),
        ms === undefined ? `${Number(relative.toPrecision(2))} of the shortest` : `${timeText(ms)} on ${NOMINAL_WORKERS} workers`,
        `${blocks} ${blocks === 1 ? 'block' : 'blocks'}, ${Math.round(100 * share)} % on the longest way, runs of ${Math.round(run)}`,
        taken ? 'taken' : '',
      ]),
  )
  return losers.length > shown.length ? [...lines, `and ${losers.length - shown.length} more`] : lines
}

function reasonText(reason: Dependence | Refusal, file: string | undefined): string {
  if ('vector' in reason) return `${reason.array} ${vectorText(reason)}`
  return reason.span === undefined ? reason.message : `${placeText(reason.span, file)} ${reason.message}`
}

function footer(analyzed: AnalyzedLoop, explained: ExplainedKernel | undefined): string[] {
  const { plan } = analyzed
  const { schedule, execution, kernel, prefetch } = plan
  const reason = kernel.because?.[0]?.message ?? kernel.note
  return [
    ...(schedule.kind === 'serial'
      ? []
      : [`blocks ${schedule.blocks.length === 0 ? 'cut when the data is known' : schedule.blocks.join(' x ')}`]),
    ...(prefetch.length === 0 ? [] : [`prefetch ${prefetch.map(({ slice }) => slice).join(', ')}`]),
    `kernel ${kernel.target}${reason === undefined ? '' : `: ${reason}`}`,
    ...(explained === undefined ? [] : kernelLines(analyzed, explained).map((line) => `  ${line}`)),
    `execution ${execution.where}: ${execution.because}`,
    ...(execution.processes === undefined ? [] : [`processes ${execution.processes.count}: ${execution.processes.because}`]),
    ...checkpointLines(plan),
    ...costLines(plan),
  ]
}

function checkpointLines({ checkpoint }: LoopPlan): string[] {
  if (checkpoint === undefined) return []
  const { kept, because, passesSkipped: count } = checkpoint
  const skipped = count === 0 ? '' : ` ${count} ${count === 1 ? 'pass was' : 'passes were'} known and did not run again.`
  return [`checkpoint ${kept ? 'kept' : 'not kept'}: ${because}${skipped}`]
}

function costLines({ cost }: LoopPlan): string[] {
  const { predictedMilliseconds, measured } = cost ?? {}
  if (measured === undefined)
    return predictedMilliseconds === undefined ? [] : [`predicted ${timeText(predictedMilliseconds)} a pass on one thread`]
  const { milliseconds, workers, balance, predictedMilliseconds: before } = measured
  const parts = [
    `${timeText(milliseconds)} a pass`,
    ...(before === undefined ? [] : [`predicted ${timeText(before)}`]),
    workers === 1 ? '1 worker' : `${workers} workers, balance ${balance.toFixed(2)}`,
  ]
  return [`measured ${parts.join(', ')}`]
}

/** Prints a time with two significant digits. */
function timeText(milliseconds: number): string {
  return `${milliseconds < 100 ? Number(milliseconds.toPrecision(2)) : Math.round(milliseconds)} ms`
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)]
}

/** Aligns columns, two spaces apart. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
