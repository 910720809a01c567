import { expect, test } from 'vitest'
import { lowerMarked as lower } from '../../../property-tests/lowerMarked.ts'
import type { ElementType } from '../../core/data/schema.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Callback } from '../../core/plan/transformations.ts'
import { lowerFunction } from '../function/userFunction.ts'
import { stagesText } from './stages.ts'

const element: ElementType = {
  kind: 'row',
  fields: [
    { name: 'shop', type: { kind: 'utf8' }, nullable: false },
    { name: 'price', type: { kind: 'f64' }, nullable: false },
  ],
}
const TABLE = { kind: 'rowNumber' } as const
const orders: LogicalPlan = {
  kind: 'Scan',
  source: { kind: 'parquet', name: 'orders.parquet', element, splits: [] },
  columns: ['shop', 'price'],
  predicate: [{ column: 'price', operator: '>', value: 0 }],
  element,
  keys: TABLE,
}

function fn(f: Callback): UserFunction {
  return lowerFunction(f, { kind: 'row', method: 'map', inputs: [element], key: { argument: 1, rank: 1 } }).fn
}
const filter = (input: LogicalPlan, f: Callback): LogicalPlan => ({ kind: 'Filter', input, f: fn(f), element, keys: TABLE })
const map = (input: LogicalPlan, f: Callback): LogicalPlan => ({
  kind: 'Map',
  input,
  f: fn(f),
  element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false },
  keys: TABLE,
})
type Order = { readonly shop: string; readonly price: number }

test('narrow steps share the stage of their scan; groups are cut off by an exchange', () => {
  const plan: LogicalPlan = {
    kind: 'GroupBy',
    input: filter(orders, (r: Order) => r.price > 0),
    by: { kind: 'function', f: fn((r: Order) => r.shop) },
    how: { kind: 'agg', aggregates: [{ name: 'total', kind: 'sum', of: fn((r: Order) => r.price) }] },
    element: { kind: 'unknown' },
    keys: TABLE,
  }
  expect(stagesText(lower(plan))).toMatchInlineSnapshot(`
    "stage 0: ScanExec orders.parquet [shop, price] where price > 0 -> FilterExec r => r.price > 0 -> EvaluateExec [r => r.shop, r => r.price] -> PartialGroupsExec total = sum -> streamed to stage 1
    stage 1: stage 0 -> ExchangeExec in order -> HashAggregateExec total = sum"
  `)
})

test('counts are formed within each partition first when the optimizer says so', () => {
  const plan: LogicalPlan = {
    kind: 'GroupBy',
    input: orders,
    by: { kind: 'function', f: fn((r: Order) => r.shop) },
    how: { kind: 'agg', aggregates: [{ name: 'n', kind: 'count' }], partial: true },
    element: { kind: 'unknown' },
    keys: TABLE,
  }
  expect(stagesText(lower(plan))).toMatchInlineSnapshot(`
    "stage 0: ScanExec orders.parquet [shop, price] where price > 0 -> EvaluateExec [r => r.shop] -> PartialGroupsExec n = count -> streamed to stage 1
    stage 1: stage 0 -> ExchangeExec in order -> HashAggregateExec n = count"
  `)
})

test('a function that reads the row number of a filtered table waits for the counts of the partitions before', () => {
  const plan = map(
    filter(orders, (r: Order) => r.price > 0),
    (r: Order, [i]: [number]) => r.price * i,
  )
  expect(stagesText(lower(plan))).toMatchInlineSnapshot(`
    "stage 0: ScanExec orders.parquet [shop, price] where price > 0 -> FilterExec r => r.price > 0 -> ProjectExec [price] -> streamed to stage 1
    stage 1: stage 0 -> MapExec (r, [i]) => r.price * i -> streamed to the action"
  `)
})

test('one that does not, does not', () => {
  const plan = map(
    filter(orders, (r: Order) => r.price > 0),
    (r: Order) => r.price,
  )
  expect(stagesText(lower(plan))).toMatchInlineSnapshot(
    `"stage 0: ScanExec orders.parquet [shop, price] where price > 0 -> FilterExec r => r.price > 0 -> MapExec r => r.price -> streamed to the action"`,
  )
})

test('a function that cannot be sent has a stage on the caller, with the reason', () => {
  let seen = 0
  const plan = map(orders, () => seen++)
  expect(stagesText(lower(plan))).toMatchInlineSnapshot(
    `"stage 0: ScanExec orders.parquet [shop, price] where price > 0 -> MapExec () => seen++ -> streamed to the action  (on the caller's thread: () => seen++: It assigns the captured variable seen.)"`,
  )
})
