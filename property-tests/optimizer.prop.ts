/**
 * Law 2: each rule alone, and all of them together, keep the result and the schema; running them twice changes nothing.
 *
 * The result is that of the reference interpreter, once with the closures as rules composed them and once with the
 * functions run from their IR. Sources skip what their statistics exclude, as readers do.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { elementText, keysText } from '../src/core/plan/elements.ts'
import { inputsOf, type LogicalPlan, withInputs } from '../src/core/plan/logicalPlan.ts'
import { mayMatch } from '../src/core/plan/predicate.ts'
import { planText } from '../src/core/plan/tree.ts'
import { optimize } from '../src/planner/optimize.ts'
import type { Rule } from '../src/planner/rule.ts'
import { RULES } from '../src/planner/rules/index.ts'
import { type BuiltChain, buildChain, chain, type Step } from './arbitraries/chain.ts'
import { runFromIr } from './irFunction.ts'
import { lawRuns } from './lawRuns.ts'
import { type Entry, interpret, type Tables } from './reference.ts'

const RUNS = lawRuns()

/** Steps that make a rule's pattern likely; with all steps a rule of two nodes seldom fires. */
const NEAR: Readonly<Record<string, readonly (readonly Step[])[]>> = {
  mergeFilters: [['filter', 'filterKey', 'filterThrows', 'mapRow'], ['filterOne']],
  pushFilterDown: [
    ['filter', 'filterOne', 'filterThrows', 'mapRow', 'mapKey', 'withColumns', 'mapScalar'],
    ['filterOne', 'mapKey'],
    ['filterOne', 'join'],
    ['filter', 'filterOne', 'filterThrows', 'window', 'select'],
    ['filterOne', 'filterThrows', 'join', 'joinBy', 'select'],
    ['filter', 'filterKey', 'filterThrows', 'sortBy', 'union', 'select', 'repartition'],
  ],
  narrowJoins: [
    ['filter', 'filterSimple', 'join'],
    ['filterSimple', 'filterThrows', 'join', 'joinBy', 'select'],
  ],
  pushPredicateIntoScan: [['filterSimple', 'filterSimple', 'filterOne', 'filterThrows']],
  fuseMaps: [['mapRow', 'mapScalar', 'mapKey', 'withColumns', 'mapThrows']],
  topK: [['sortBy', 'limit', 'mapRow']],
  pushLimitDown: [['limit', 'mapRow', 'mapKey', 'withColumns', 'select', 'mapThrows', 'sortBy']],
  removeRedundant: [['select', 'limit', 'distinct', 'union', 'repartition', 'mapRow', 'sortBy', 'window', 'mapThrows']],
  pruneColumns: [
    ['mapRow', 'mapScalar', 'withColumns', 'select', 'union', 'groupBy', 'filter', 'sortBy', 'mapThrows', 'mapOpaque'],
    ['mapRow', 'mapScalar', 'join', 'joinBy', 'withColumns', 'groupBy'],
    ['window', 'select', 'mapRow', 'mapThrows', 'withColumns'],
  ],
}

for (const rule of RULES) {
  test(`${rule.name} alone keeps the result`, () => {
    lawHolds([rule], fc.oneof(chain(), ...(NEAR[rule.name] ?? []).map((near) => chain(near))))
  })
}

test('all rules together keep the result', () => {
  lawHolds(RULES, chain())
})

test('all rules together keep the result of chains of maps and filters', () => {
  lawHolds(RULES, chain(['filter', 'filterKey', 'mapRow', 'mapScalar', 'withColumns', 'select', 'limit', 'sortBy']))
})

function lawHolds(rules: readonly Rule[], chains: ReturnType<typeof chain>): void {
  let changed = 0
  fc.assert(
    fc.property(chains, (one) => {
      const built = buildChain(one)
      const { plan, applied } = optimize(built.plan, rules)
      if (applied.length > 0) changed++
      const words = `${planText(built.plan)}\n--> ${applied.join(', ')}\n${planText(plan)}`
      expect(elementText(plan.element), words).toBe(elementText(built.plan.element))
      expect(keysText(plan.keys), words).toBe(keysText(built.plan.keys))
      expect(optimize(plan, rules).plan, words).toBe(plan)
      const wanted = outcome(built, built.plan)
      expect(outcome(built, plan), words).toBe(wanted)
      expect(outcome(built, runFromIr(plan)), `from the IR:\n${words}`).toBe(wanted)
    }),
    { numRuns: RUNS },
  )
  // a law about a rule that never fires says nothing
  if (rules.some((rule) => rule.name in NEAR)) expect(changed).toBeGreaterThan(RUNS / 50)
}

/** The elements as text, or that the plan fails. Which of several failures comes first is not promised. */
function outcome({ tables }: BuiltChain, plan: LogicalPlan): string {
  try {
    const skipped = new Map(tables)
    const entries = interpret(withSkipping(plan, skipped), skipped)
    // elements without columns are there to be counted
    if (plan.element.kind === 'row' && plan.element.fields.length === 0) return `${entries.length} elements`
    return entries.map(entryText).join('\n')
  } catch (error) {
    return `fails${error instanceof Error && error.message.includes('does not know') ? `: ${error.message}` : ''}`
  }
}

/** Rows a split: small, so that skipping happens. */
const SPLIT = 2

/** Scans with predicates over tables without the splits that their statistics exclude. */
function withSkipping(plan: LogicalPlan, tables: Map<object, readonly unknown[]>): LogicalPlan {
  // the reference knows plans as programs write them
  if (plan.kind === 'Join' && plan.matchesAlone === true) {
    const { matchesAlone: _, ...join } = plan
    return withSkipping({ ...join, how: 'inner' }, tables)
  }
  if (plan.kind !== 'Scan' || plan.predicate === undefined)
    return withInputs(
      plan,
      inputsOf(plan).map((input) => withSkipping(input, tables)),
    )
  const { predicate } = plan
  const rows = (tables as Tables).get(plan.source) ?? []
  const kept: unknown[] = []
  for (let from = 0; from < rows.length; from += SPLIT) {
    const split = rows.slice(from, from + SPLIT) as readonly Readonly<Record<string, unknown>>[]
    const may = predicate.every((comparison) => {
      const values = split.map((row) => row[comparison.column]).filter((value) => value !== null && !Number.isNaN(value)) as number[]
      if (comparison.isOfNull === true && split.some((row) => row[comparison.column] === null)) return true
      if (values.length === 0) return false
      const [least, most] = [values.reduce((a, b) => (b < a ? b : a)), values.reduce((a, b) => (b > a ? b : a))]
      return mayMatch(comparison, { min: least, max: most })
    })
    if (may) kept.push(...split)
  }
  const source = { ...plan.source }
  tables.set(source, kept)
  return { ...plan, source }
}

function entryText({ key, value }: Entry): string {
  return `[${key.join(', ')}] ${valueText(value)}`
}

function valueText(value: unknown): string {
  if (value === undefined || value === null) return 'null'
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([name, field]) => `${name}: ${valueText(field)}`)
      .join(', ')}}`
  if (typeof value === 'bigint') return `${value}n`
  return Object.is(value, -0) ? '-0' : typeof value === 'string' ? JSON.stringify(value) : String(value)
}
