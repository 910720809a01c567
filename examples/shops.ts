/**
 * A chain over tables: what each shop took per year, with the shop's city joined on.
 *
 * Nothing runs before `collect`; `explain` shows the plan as written and as the optimizer leaves it.
 */
import { count, mean, Session, sum } from 'distarray'

await using session = await Session.start()

const orders = session.fromRows(
  Array.from({ length: 10_000 }, (_, i) => ({
    shop: ['north', 'south', 'east', 'west'][(i * 7) % 4] ?? '',
    year: 2023 + ((i * 13) % 3),
    total: ((i * 37) % 400) / 4,
    paid: i % 10 !== 0,
  })),
)
const cities = session.fromRows([
  { shop: 'north', city: 'Oslo' },
  { shop: 'south', city: 'Rome' },
  { shop: 'west', city: 'Lima' },
])

const takings = orders
  .filter((o) => o.paid && o.total > 0)
  .groupBy((o) => ({ shop: o.shop, year: o.year }))
  .agg({ takings: sum((o) => o.total), orders: count(), average: mean((o) => o.total) })
  .join(cities, 'shop')
  .sortBy((row) => row.takings, { descending: true })
  .limit(4)

for (const row of await takings.collect()) {
  console.log(`${row.city} ${row.year}: ${row.takings.toFixed(2)} from ${row.orders} orders, ${row.average?.toFixed(2)} each`)
}

const best = await orders.map((o) => o.total).max()
console.log(`largest order ${best}, ${await orders.filter((o) => !o.paid).count()} orders unpaid`)

// prints:
// Rome 2024: 41944.75 from 833 orders, 50.35 each
// Rome 2023: 41914.50 from 834 orders, 50.26 each
// Rome 2025: 41765.75 from 833 orders, 50.14 each
// Lima 2025: 41534.25 from 833 orders, 49.86 each
// largest order 99.75, 1000 orders unpaid
