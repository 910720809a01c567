import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { innerJoins } from './innerJoins.ts'
import { pushFilterDown } from './pushFilterDown.ts'

const sales = tableOf<{ id: number; item: number; amount: number }>('sales', { id: 'f64', item: 'f64', amount: 'f64' })
const returned = tableOf<{ id: number; amount: number; reason: number | null; at: string }>('returns', {
  id: 'f64',
  amount: 'f64',
  reason: 'f64?',
  at: 'utf8',
})
const reasons = tableOf<{ reason: number; text: string }>('reasons', { reason: 'f64', text: 'utf8' })
const joined = sales.join(returned, 'id', { how: 'left' })

test('a filter that null does not pass, which then goes down', () => {
  const chain = joined.filter((r) => r.amount_right !== null && r.amount_right > 3)
  expect(optimizedText(chain, [innerJoins])).toMatchInlineSnapshot(`
    "Filter r => r.amount_right !== null && r.amount_right > 3
      Join left on "id", matches alone
        Scan sales [id, item, amount]
        Scan returns [id, amount, reason, at]"
  `)
  expect(optimizedText(chain, [innerJoins, pushFilterDown])).toMatchInlineSnapshot(`
    "Join left on "id", matches alone
      Scan sales [id, item, amount]
      Filter r => r.amount_right !== null && r.amount_right > 3
        Scan returns [id, amount, reason, at]"
  `)
})

test('a filter over both sides, of which one part decides', () => {
  const chain = joined.filter((r) => r.amount > 3 && r.at === 'Monday')
  expect(optimizedText(chain, [innerJoins])).toContain('Join left on "id", matches alone')
})

test('not what null passes, what only rows without a match pass, or what other columns decide', () => {
  const all = [
    joined.filter((r) => r.amount_right! < 3),
    joined.filter((r) => r.reason === null),
    joined.filter((r) => r.at !== 'Monday'),
    joined.filter((r) => r.amount > 3 || r.reason === 3),
    joined.filter((r, [i]) => i > 3 && r.at === 'Monday'),
    sales.join(returned, 'id', { how: 'full' }).filter((r) => r.at === 'Monday'),
  ]
  for (const chain of all) expect(optimizedText(chain as never, [innerJoins])).not.toContain('matches alone')
})

test('below a join by a column of the right side, of either side of it', () => {
  expect(optimizedText(joined.join(reasons, 'reason'), [innerJoins])).toMatchInlineSnapshot(`
    "Join inner on "reason"
      Join left on "id", matches alone
        Scan sales [id, item, amount]
        Scan returns [id, amount, reason, at]
      Scan reasons [reason, text]"
  `)
  const by = joined.join(
    reasons,
    { left: (r) => ({ key: r.reason, item: r.item }), right: (r) => ({ key: r.reason, item: 1 }) },
    { how: 'semi' },
  )
  expect(optimizedText(by, [innerJoins])).toContain('matches alone')
  expect(optimizedText(reasons.join(joined, 'reason'), [innerJoins])).toContain('matches alone')
})

test('not below a join that keeps rows without a match, or by a column of the left side', () => {
  expect(optimizedText(joined.join(reasons, 'reason', { how: 'left' }), [innerJoins])).not.toContain('matches alone')
  expect(optimizedText(joined.join(reasons, 'reason', { how: 'anti' }), [innerJoins])).not.toContain('matches alone')
  const byItem = joined.join(reasons, { left: (r) => r.item, right: (r) => r.reason })
  expect(optimizedText(byItem, [innerJoins])).not.toContain('matches alone')
  const orZero = joined.join(reasons, { left: (r) => r.reason ?? 0, right: (r) => r.reason })
  expect(optimizedText(orZero, [innerJoins])).not.toContain('matches alone')
})
