import { expect, test } from 'vitest'
import { lowerMarked } from '../../../property-tests/lowerMarked.ts'
import { tableOf } from '../../../property-tests/plans.ts'
import { type DistArray, planOf } from '../../core/arrays/distArray.ts'
import { count } from '../../core/plan/aggregates.ts'
import { optimize } from '../optimize.ts'
import { RULES } from '../rules/index.ts'
import { stagesText } from './stages.ts'

const orders = tableOf<{ id: number; price: number; comment: string }>('orders', { id: 'f64', price: 'f64', comment: 'utf8' })
const items = tableOf<{ order: number; price: number }>('items', { order: 'f64', price: 'f64' })

const textOf = (chain: DistArray<unknown>): string => stagesText(lowerMarked(optimize(planOf(chain), RULES).plan))

const few = orders.filter((o) => o.comment !== 'x')
const keys = { left: (o: { id: number }) => o.id, right: (i: { order: number }) => i.order }

test('a join carries what is read above it; keys and the columns of filters end below', () => {
  expect(textOf(few.join(items, keys).map((r) => r.price_right))).toMatchInlineSnapshot(`
    "stage 0: ScanExec orders [id, price, comment] -> FilterExec o => o.comment !== "x" -> EvaluateExec [o => o.id] beside []
    stage 1: ScanExec items [order, price] -> EvaluateExec [i => i.order] beside [price]
    stage 2: stage 0, stage 1 -> ExchangeExec right side to all -> HashJoinExec inner carrying [price_right], keys of the left filter the right where they are few
    stage 3: stage 2 -> MapExec r => r.price_right -> streamed to the action"
  `)
})

test('whoever reads rows as a whole has all of their columns', () => {
  expect(textOf(few.join(items, keys).map((r) => JSON.stringify(r)))).not.toMatch(/carrying|beside/)
  expect(textOf(few.join(items, keys))).not.toMatch(/carrying|beside/)
})

test('rows that are only counted have no columns', () => {
  expect(
    textOf(
      few
        .join(items, keys)
        .groupBy(() => 1)
        .agg({ n: count() }),
    ),
  ).toContain('HashJoinExec inner carrying []')
})

test('a column joined on by name goes up to the join, and further where it is read', () => {
  const others = tableOf<{ id: number; price: number }>('others', { id: 'f64', price: 'f64' })
  expect(textOf(few.join(others, 'id').map((r) => r.price))).toMatchInlineSnapshot(`
    "stage 0: ScanExec orders [id, price, comment] -> FilterExec o => o.comment !== "x" -> ProjectExec [id, price]
    stage 1: ScanExec others [id]
    stage 2: stage 0, stage 1 -> ExchangeExec right side to all -> HashJoinExec inner on "id" carrying [price], keys of the left filter the right where they are few
    stage 3: stage 2 -> MapExec r => r.price -> streamed to the action"
  `)
})
