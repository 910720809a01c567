import { expect, test } from 'vitest'
import { tableOf } from '../../../property-tests/plans.ts'
import { type DistArray, planOf } from '../../core/arrays/distArray.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import { count } from '../../core/plan/aggregates.ts'
import { inputsOf, type LogicalPlan, withInputs } from '../../core/plan/logicalPlan.ts'
import { lower } from './lower.ts'
import { stagesText } from './stages.ts'

const sales = tableOf<{ part: number; shop: number }>('sales', { part: 'f64', shop: 'f64' })
const parts = tableOf<{ id: number; name: string }>('parts', { id: 'f64', name: 'utf8' }).filter((p) => p.name === 'bolt')

/** The line of the plan's last join. */
function joinText(chain: DistArray<unknown>): string | undefined {
  return planText(chain)
    .split('\n')
    .findLast((line) => line.includes('HashJoinExec'))
}

/** The physical plan over tables in memory. */
function planText(chain: DistArray<unknown>): string {
  const over = (plan: LogicalPlan): LogicalPlan => {
    if (plan.kind !== 'Scan') return withInputs(plan, inputsOf(plan).map(over))
    const columns = fieldsOf(plan.element).map(({ type }) => ({ type, length: 0 }))
    const { element, keys } = plan
    return { kind: 'Stored', name: 'table', storage: { kind: 'table', element, length: 0, columns }, element, keys }
  }
  return stagesText(lower(over(planOf(chain))))
}

test('keys of groups are columns of what is grouped', () => {
  const sold = sales.groupBy((s) => ({ part: s.part, shop: s.shop })).agg({ n: count() })
  expect(joinText(parts.join(sold, { left: (p) => [p.id], right: (s) => [s.part] }))).toMatchInlineSnapshot(
    `"stage 4: stage 0, stage 3 -> ExchangeExec right side to all -> HashJoinExec inner, keys of the left filter the right, and what it is computed from, where they are few"`,
  )
  expect(joinText(parts.join(sold, { left: (p) => p.id, right: (s) => s.n }))).toMatchInlineSnapshot(
    `"stage 4: stage 0, stage 3 -> ExchangeExec right side to all -> HashJoinExec inner, keys of the left filter the right where they are few"`,
  )
})

test('not through a function that may fail', () => {
  const sold = sales.groupBy((s) => ({ part: s.part })).agg({ n: count() })
  const checked = sold.filter((s) => {
    if (s.n > 9) throw new Error('too many')
    return true
  })
  const keys = { left: (p: { id: number }) => p.id, right: (s: { part: number }) => s.part }
  expect(joinText(parts.join(sold.filter((s) => s.n > 9), keys))).toContain('computed from') // biome-ignore format: one line
  expect(joinText(parts.join(checked, keys))).not.toContain('computed from')
})

test('a side that keys of a join above filter is the one to begin with', () => {
  const shops = tableOf<{ shop: number; part: number }>('shops', { shop: 'f64', part: 'f64' })
  const sold = sales.join(shops, { left: (s) => s.shop, right: (s) => s.shop }, { suffix: '_of' })
  const text = (chain: DistArray<unknown>): string => planText(chain).split('\n').filter((line) => line.includes('HashJoinExec')).join('\n') // biome-ignore format: one line
  expect(text(sold)).not.toContain('where they are few')
  expect(text(sold.join(parts, { left: (s) => s.part_of, right: (p) => p.id }))).toMatchInlineSnapshot(`
    "stage 2: stage 0, stage 1 -> ExchangeExec right side to all -> HashJoinExec inner, keys of the right filter the left where they are few
    stage 5: stage 3, stage 4 -> ExchangeExec right side to all -> HashJoinExec inner, keys of the right filter the left, and what it is computed from, where they are few"
  `)
})
