/** Runs an entry with a session and says where it differs from plain JavaScript; and writes down the verdicts of its loops. */
import type { DistArray, Loop, LoopPlan, Session } from '../../src/index.ts'
import { dtypeOf, type Entry, type Given, type Loops, type Numbers, type Orders } from './entry.ts'

/** What a loop of an entry got: the lines of the golden text, and what the table of the docs is made of. */
export interface Verdict {
  readonly entry: string
  readonly what: string
  /** Empty when the entry has one loop. */
  readonly loop: string
  readonly schedule: string
  readonly reason: string
  /** For serial loops. */
  readonly blocking?: string
  /** Why the first run cannot inspect the loop. */
  readonly uninspected?: string
  readonly edits: readonly string[]
}

export interface Ran {
  readonly verdicts: readonly Verdict[]
  /** Passes that ran on worker threads. */
  readonly onWorkers: number
  /** In words, with the place; empty when all is as in plain JavaScript. */
  readonly differences: readonly string[]
}

export async function runEntry(session: Session, entry: Entry): Promise<Ran> {
  const arrays = Object.fromEntries(
    await Promise.all(Object.entries(entry.data).map(async ([name, given]) => [name, await arrayOf(session, given)] as const)),
  )
  const { loops, before, rounds = 1 } = loopsOf(entry.loops(session, arrays))
  const verdicts = new Map<string, Verdict>()
  const differences: string[] = []
  const totals: Record<string, number> = {}
  let onWorkers = 0
  for (let round = 0; round < rounds; round++) {
    before?.(round)
    for (const [name, loop] of Object.entries(loops)) {
      // verify() is a pass on copies: asked once before the arrays change and once in the last round.
      if (round === 0 || round === rounds - 1) differences.push(...(await verified(name, loop)))
      const report = await loop.run()
      const verdict = verdictOf(entry, name, loop.plan)
      const id = `${name} ${verdict.schedule}`
      // With another captured number the verdict may be another.
      if (!verdicts.has(id)) verdicts.set(id, round === 0 ? verdict : { ...verdict, loop: `${name}, round ${round + 1}` })
      if (report.workers > 1) onWorkers++
      for (const pass of report.passes) Object.assign(totals, pass.accumulators)
    }
  }
  const orders: Record<string, number[][]> = {}
  for (const [name, loop] of Object.entries(loops)) if (loop.plan.order === 'any') orders[name] = await orderOf(loop)
  differences.push(...(await differencesFromPlain(entry, arrays, orders, totals)))
  return { verdicts: [...verdicts.values()], onWorkers, differences }
}

async function arrayOf(session: Session, { shape, data }: Given): Promise<DistArray<number, readonly number[]>> {
  const array = session.zeros(shape, { dtype: dtypeOf(data) }) as DistArray<number, readonly number[]> // no entry has i64
  await array.assign(
    shape.map(() => null),
    data,
  )
  return array
}

function loopsOf(made: Loop | Loops): Loops {
  return 'loops' in made ? made : { loops: { '': made } }
}

async function verified(name: string, loop: Loop): Promise<string[]> {
  const { identical, firstDifference } = await loop.verify()
  return identical && firstDifference === undefined ? [] : [`verify() of ${name || 'the loop'}: ${JSON.stringify(firstDifference)}`]
}

async function orderOf(loop: Loop): Promise<number[][]> {
  const flat = await loop.serialOrder()
  const rank = loop.plan.dependences[0]?.vector.length ?? 1
  return Array.from({ length: flat.length / rank }, (_, i) => [...flat.subarray(i * rank, (i + 1) * rank)])
}

async function differencesFromPlain(
  entry: Entry,
  arrays: Readonly<Record<string, DistArray<number, readonly number[]>>>,
  orders: Orders,
  totals: Readonly<Record<string, number>>,
): Promise<string[]> {
  const plain = Object.fromEntries(Object.entries(entry.data).map(([name, { data }]) => [name, data.slice()]))
  const wanted = entry.plain(plain, orders) ?? {}
  const found: string[] = []
  for (const [name, value] of Object.entries(wanted)) {
    if (!Object.is(totals[name], value)) found.push(`${name} is ${totals[name]}, in plain JavaScript ${value}`)
  }
  for (const [name, array] of Object.entries(arrays)) {
    const difference = firstDifference(plain[name]!, (await array.toTypedArray()) as Numbers) // dtypes of `Given` only
    if (difference !== undefined) found.push(`${name}${difference}`)
  }
  return found
}

function firstDifference(plain: Numbers, got: Numbers): string | undefined {
  if (plain.length !== got.length) return ` has ${got.length} elements, in plain JavaScript ${plain.length}`
  const at = plain.findIndex((value, i) => !Object.is(value, got[i]))
  return at < 0 ? undefined : ` at position ${at} is ${got[at]}, in plain JavaScript ${plain[at]}`
}

// ------------------------------------------------------------------ verdicts

function verdictOf({ name, what }: Entry, loop: string, plan: LoopPlan): Verdict {
  const { kind, axes, reason, steps } = plan.schedule
  const on = (some: readonly number[]) => `${some.length > 1 ? 'axes' : 'axis'} ${some.join(', ')}`
  const cut = axes.length === 0 || kind === 'independent' ? kind : `${kind} on ${on(axes)}`
  const stepwise = steps === undefined ? cut : `${kind} in steps of ${on(steps.axes)}, ${steps.inside} inside`
  const schedule = plan.parts === undefined ? stepwise : `in ${plan.parts.length} parts`
  const isSerial = kind === 'serial'
  const blocking = isSerial ? blockingOf(plan) : undefined
  const uninspected = plan.rejected
    .flatMap((one) => (one.kind === 'colored' ? one.because : []))
    .flatMap((one) => ('code' in one ? [oneLine(one.message)] : []))
  const edits = isSerial ? [...new Set(plan.rejected.flatMap(({ edit }) => (edit === undefined ? [] : [edit])))] : []
  return {
    entry: name,
    what,
    loop,
    schedule,
    reason: oneLine(reason),
    edits,
    ...(blocking === undefined ? {} : { blocking }),
    ...(uninspected[0] === undefined ? {} : { uninspected: uninspected[0] }),
  }
}

/** What is in the way of the most ordered schedule that was tried. */
function blockingOf({ rejected, kernel }: LoopPlan): string | undefined {
  const first = rejected.findLast(({ kind }) => kind !== 'colored')?.because[0] ?? kernel.because?.[0]
  if (first === undefined) return undefined
  if ('code' in first) return `${first.message} ${first.cure}`
  const places = [...new Set([first.from.text, first.to.text])].map(oneLine)
  return `${first.array} [${first.vector.join(', ')}] ${first.kind}: ${places.join('  and  ')}`
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').replace(/__vi\w+__\./g, '')

/** The golden text of some verdicts. */
export function verdictText(verdicts: readonly Verdict[]): string {
  const blocks = new Map<string, string[]>()
  for (const { entry, what, loop, schedule, reason, blocking, uninspected, edits } of verdicts) {
    const lines = blocks.get(entry) ?? [`${entry}: ${what}`]
    lines.push(`  ${loop === '' ? '' : `${loop}: `}${schedule}: ${reason}`)
    if (blocking !== undefined) lines.push(`    in the way: ${blocking}`)
    if (uninspected !== undefined) lines.push(`    not inspected: ${uninspected}`)
    lines.push(...edits.map((edit) => `    edit: ${edit}`))
    blocks.set(entry, lines)
  }
  return `${[...blocks.values()].map((lines) => lines.join('\n')).join('\n\n')}\n`
}
