/**
 * The 22 queries of TPC-H, as a person would write them: each a chain over the tables and, by the specification (section
 * 2.4, with its validation parameters), as SQL. Both give the same columns; a query whose answer is one number gives a row of it.
 */
import { count, countDistinct, type DistArray, mean, min, sum } from 'distarray'
import type { Tables } from './tables.ts'

/** The plan of a query, or its rows where it takes more than one action. */
export type Answer = DistArray<object> | readonly object[]

export interface Query {
  readonly name: string
  readonly chain: (tables: Tables, scale: number) => Promise<Answer> | Answer
  readonly sql: (scale: number) => string
}

const day = (text: string): Date => new Date(text)

export const QUERIES: readonly Query[] = [
  {
    name: 'q1',
    chain: ({ lineitem }) => {
      const last = day('1998-09-02')
      return lineitem
        .filter((l) => l.l_shipdate <= last)
        .groupBy((l) => ({ l_returnflag: l.l_returnflag, l_linestatus: l.l_linestatus }))
        .agg({
          sum_qty: sum((l) => l.l_quantity),
          sum_base_price: sum((l) => l.l_extendedprice),
          sum_disc_price: sum((l) => l.l_extendedprice * (1 - l.l_discount)),
          sum_charge: sum((l) => l.l_extendedprice * (1 - l.l_discount) * (1 + l.l_tax)),
          avg_qty: mean((l) => l.l_quantity),
          avg_price: mean((l) => l.l_extendedprice),
          avg_disc: mean((l) => l.l_discount),
          count_order: count(),
        })
        .sortBy((g) => [g.l_returnflag, g.l_linestatus])
    },
    sql: () => `
      SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
        sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
        avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
      FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'
      GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus`,
  },
  {
    name: 'q2',
    chain: ({ part, partsupp, supplier, nation, region }) => {
      const europe = supplier.join(nation, { left: (s) => s.s_nationkey, right: (n) => n.n_nationkey }).join(
        region.filter((r) => r.r_name === 'EUROPE'),
        { left: (s) => s.n_regionkey, right: (r) => r.r_regionkey },
      )
      const offers = part
        .filter((p) => p.p_size === 15 && p.p_type.endsWith('BRASS'))
        .join(partsupp, { left: (p) => p.p_partkey, right: (o) => o.ps_partkey })
        .join(europe, { left: (o) => o.ps_suppkey, right: (s) => s.s_suppkey })
      const cheapest = offers.groupBy((o) => ({ partkey: o.p_partkey })).agg({ cost: min((o) => o.ps_supplycost) })
      return offers
        .join(cheapest, { left: (o) => [o.p_partkey, o.ps_supplycost], right: (c) => [c.partkey, c.cost] }, { how: 'semi' })
        .sortBy((o) => [-o.s_acctbal, o.n_name, o.s_name, o.p_partkey])
        .limit(100)
        .select('s_acctbal', 's_name', 'n_name', 'p_partkey', 'p_mfgr', 's_address', 's_phone', 's_comment')
    },
    sql: () => `
      SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
      FROM part, supplier, partsupp, nation, region
      WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS'
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
        AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
          WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
            AND n_regionkey = r_regionkey AND r_name = 'EUROPE')
      ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100`,
  },
  {
    name: 'q3',
    chain: ({ customer, orders, lineitem }) => {
      const at = day('1995-03-15')
      return customer
        .filter((c) => c.c_mktsegment === 'BUILDING')
        .join(
          orders.filter((o) => o.o_orderdate < at),
          { left: (c) => c.c_custkey, right: (o) => o.o_custkey },
        )
        .join(
          lineitem.filter((l) => l.l_shipdate > at),
          { left: (o) => o.o_orderkey, right: (l) => l.l_orderkey },
        )
        .groupBy((r) => ({ l_orderkey: r.l_orderkey, o_orderdate: r.o_orderdate, o_shippriority: r.o_shippriority }))
        .agg({ revenue: sum((r) => r.l_extendedprice * (1 - r.l_discount)) })
        .sortBy((g) => [-g.revenue, g.o_orderdate])
        .limit(10)
        .select('l_orderkey', 'revenue', 'o_orderdate', 'o_shippriority')
    },
    sql: () => `
      SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
      FROM customer, orders, lineitem
      WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
      GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10`,
  },
  {
    name: 'q4',
    chain: ({ orders, lineitem }) => {
      const from = day('1993-07-01')
      const to = day('1993-10-01')
      return orders
        .filter((o) => o.o_orderdate >= from && o.o_orderdate < to)
        .join(
          lineitem.filter((l) => l.l_commitdate < l.l_receiptdate),
          { left: (o) => o.o_orderkey, right: (l) => l.l_orderkey },
          { how: 'semi' },
        )
        .groupBy((o) => ({ o_orderpriority: o.o_orderpriority }))
        .agg({ order_count: count() })
        .sortBy((g) => g.o_orderpriority)
    },
    sql: () => `
      SELECT o_orderpriority, count(*) AS order_count FROM orders
      WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
        AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
      GROUP BY o_orderpriority ORDER BY o_orderpriority`,
  },
  {
    name: 'q5',
    chain: ({ customer, orders, lineitem, supplier, nation, region }) => {
      const from = day('1994-01-01')
      const to = day('1995-01-01')
      return region
        .filter((r) => r.r_name === 'ASIA')
        .join(nation, { left: (r) => r.r_regionkey, right: (n) => n.n_regionkey })
        .join(customer, { left: (n) => n.n_nationkey, right: (c) => c.c_nationkey })
        .join(
          orders.filter((o) => o.o_orderdate >= from && o.o_orderdate < to),
          { left: (c) => c.c_custkey, right: (o) => o.o_custkey },
        )
        .join(lineitem, { left: (o) => o.o_orderkey, right: (l) => l.l_orderkey })
        .join(supplier, { left: (l) => [l.l_suppkey, l.n_nationkey], right: (s) => [s.s_suppkey, s.s_nationkey] })
        .groupBy((r) => ({ n_name: r.n_name }))
        .agg({ revenue: sum((r) => r.l_extendedprice * (1 - r.l_discount)) })
        .sortBy((g) => g.revenue, { descending: true })
    },
    sql: () => `
      SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
      FROM customer, orders, lineitem, supplier, nation, region
      WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
      GROUP BY n_name ORDER BY revenue DESC`,
  },
  {
    name: 'q6',
    chain: async ({ lineitem }) => {
      const from = day('1994-01-01')
      const to = day('1995-01-01')
      const revenue = await lineitem
        .filter((l) => l.l_shipdate >= from && l.l_shipdate < to && l.l_discount >= 0.05 && l.l_discount <= 0.07 && l.l_quantity < 24)
        .map((l) => l.l_extendedprice * l.l_discount)
        .sum()
      return [{ revenue }]
    },
    sql: () => `
      SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
      WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
        AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24`,
  },
  {
    name: 'q7',
    chain: ({ supplier, lineitem, orders, customer, nation }) => {
      const from = day('1995-01-01')
      const to = day('1996-12-31')
      const two = nation.filter((n) => n.n_name === 'FRANCE' || n.n_name === 'GERMANY')
      const sellers = supplier
        .join(two, { left: (s) => s.s_nationkey, right: (n) => n.n_nationkey })
        .map((s) => ({ suppkey: s.s_suppkey, supp_nation: s.n_name }))
      const buyers = customer
        .join(two, { left: (c) => c.c_nationkey, right: (n) => n.n_nationkey })
        .map((c) => ({ custkey: c.c_custkey, cust_nation: c.n_name }))
      return lineitem
        .filter((l) => l.l_shipdate >= from && l.l_shipdate <= to)
        .join(sellers, { left: (l) => l.l_suppkey, right: (s) => s.suppkey })
        .join(orders, { left: (l) => l.l_orderkey, right: (o) => o.o_orderkey })
        .join(buyers, { left: (o) => o.o_custkey, right: (c) => c.custkey })
        .filter((r) => r.supp_nation !== r.cust_nation)
        .groupBy((r) => ({ supp_nation: r.supp_nation, cust_nation: r.cust_nation, l_year: r.l_shipdate.getUTCFullYear() }))
        .agg({ revenue: sum((r) => r.l_extendedprice * (1 - r.l_discount)) })
        .sortBy((g) => [g.supp_nation, g.cust_nation, g.l_year])
    },
    sql: () => `
      SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue
      FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, extract(year FROM l_shipdate) AS l_year,
          l_extendedprice * (1 - l_discount) AS volume
        FROM supplier, lineitem, orders, customer, nation n1, nation n2
        WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
          AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
          AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
          AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31')
      GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year`,
  },
  {
    name: 'q8',
    chain: ({ part, supplier, lineitem, orders, customer, nation, region }) => {
      const from = day('1995-01-01')
      const to = day('1996-12-31')
      const americans = region
        .filter((r) => r.r_name === 'AMERICA')
        .join(nation, { left: (r) => r.r_regionkey, right: (n) => n.n_regionkey })
        .join(customer, { left: (n) => n.n_nationkey, right: (c) => c.c_nationkey })
        .select('c_custkey')
      const sellers = supplier.join(nation, { left: (s) => s.s_nationkey, right: (n) => n.n_nationkey }).select('s_suppkey', 'n_name')
      return part
        .filter((p) => p.p_type === 'ECONOMY ANODIZED STEEL')
        .join(lineitem, { left: (p) => p.p_partkey, right: (l) => l.l_partkey })
        .join(
          orders.filter((o) => o.o_orderdate >= from && o.o_orderdate <= to),
          { left: (l) => l.l_orderkey, right: (o) => o.o_orderkey },
        )
        .join(americans, { left: (o) => o.o_custkey, right: (c) => c.c_custkey }, { how: 'semi' })
        .join(sellers, { left: (l) => l.l_suppkey, right: (s) => s.s_suppkey })
        .map((r) => {
          const volume = r.l_extendedprice * (1 - r.l_discount)
          return { o_year: r.o_orderdate.getUTCFullYear(), volume, ofBrazil: r.n_name === 'BRAZIL' ? volume : 0 }
        })
        .groupBy((r) => ({ o_year: r.o_year }))
        .agg({ ofBrazil: sum((r) => r.ofBrazil), all: sum((r) => r.volume) })
        .map((g) => ({ o_year: g.o_year, mkt_share: g.ofBrazil / g.all }))
        .sortBy((g) => g.o_year)
    },
    sql: () => `
      SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
      FROM (SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
        FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
        WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
          AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
          AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
          AND p_type = 'ECONOMY ANODIZED STEEL')
      GROUP BY o_year ORDER BY o_year`,
  },
  {
    name: 'q9',
    chain: ({ part, supplier, lineitem, partsupp, orders, nation }) =>
      part
        .filter((p) => p.p_name.includes('green'))
        .join(lineitem, { left: (p) => p.p_partkey, right: (l) => l.l_partkey })
        .join(supplier, { left: (l) => l.l_suppkey, right: (s) => s.s_suppkey })
        .join(partsupp, { left: (l) => [l.l_suppkey, l.l_partkey], right: (o) => [o.ps_suppkey, o.ps_partkey] })
        .join(orders, { left: (l) => l.l_orderkey, right: (o) => o.o_orderkey })
        .join(nation, { left: (s) => s.s_nationkey, right: (n) => n.n_nationkey })
        .groupBy((r) => ({ nation: r.n_name, o_year: r.o_orderdate.getUTCFullYear() }))
        .agg({ sum_profit: sum((r) => r.l_extendedprice * (1 - r.l_discount) - r.ps_supplycost * r.l_quantity) })
        .sortBy((g) => [g.nation, -g.o_year]),
    sql: () => `
      SELECT nation, o_year, sum(amount) AS sum_profit
      FROM (SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year,
          l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
        FROM part, supplier, lineitem, partsupp, orders, nation
        WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
          AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%')
      GROUP BY nation, o_year ORDER BY nation, o_year DESC`,
  },
  {
    name: 'q10',
    chain: ({ customer, orders, lineitem, nation }) => {
      const from = day('1993-10-01')
      const to = day('1994-01-01')
      return customer
        .join(
          orders.filter((o) => o.o_orderdate >= from && o.o_orderdate < to),
          { left: (c) => c.c_custkey, right: (o) => o.o_custkey },
        )
        .join(
          lineitem.filter((l) => l.l_returnflag === 'R'),
          { left: (o) => o.o_orderkey, right: (l) => l.l_orderkey },
        )
        .join(nation, { left: (c) => c.c_nationkey, right: (n) => n.n_nationkey })
        .groupBy((r) => ({
          c_custkey: r.c_custkey,
          c_name: r.c_name,
          c_acctbal: r.c_acctbal,
          c_phone: r.c_phone,
          n_name: r.n_name,
          c_address: r.c_address,
          c_comment: r.c_comment,
        }))
        .agg({ revenue: sum((r) => r.l_extendedprice * (1 - r.l_discount)) })
        .sortBy((g) => g.revenue, { descending: true })
        .limit(20)
        .select('c_custkey', 'c_name', 'revenue', 'c_acctbal', 'n_name', 'c_address', 'c_phone', 'c_comment')
    },
    sql: () => `
      SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
      FROM customer, orders, lineitem, nation
      WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01'
        AND l_returnflag = 'R' AND c_nationkey = n_nationkey
      GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC LIMIT 20`,
  },
  {
    name: 'q11',
    chain: async ({ partsupp, supplier, nation }, scale) => {
      const german = partsupp
        .join(supplier, { left: (o) => o.ps_suppkey, right: (s) => s.s_suppkey })
        .join(
          nation.filter((n) => n.n_name === 'GERMANY'),
          { left: (s) => s.s_nationkey, right: (n) => n.n_nationkey },
        )
        .map((o) => ({ ps_partkey: o.ps_partkey, value: o.ps_supplycost * o.ps_availqty }))
        .materialize()
      const least = (0.0001 / scale) * (await german.map((o) => o.value).sum())
      return german
        .groupBy((o) => ({ ps_partkey: o.ps_partkey }))
        .agg({ value: sum((o) => o.value) })
        .filter((g) => g.value > least)
        .sortBy((g) => g.value, { descending: true })
    },
    sql: (scale) => `
      SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation
      WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
      GROUP BY ps_partkey
      HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) * ${(0.0001 / scale).toFixed(10)}
        FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY')
      ORDER BY value DESC`,
  },
  {
    name: 'q12',
    chain: ({ orders, lineitem }) => {
      const from = day('1994-01-01')
      const to = day('1995-01-01')
      return orders
        .join(
          lineitem.filter(
            (l) =>
              (l.l_shipmode === 'MAIL' || l.l_shipmode === 'SHIP') &&
              l.l_commitdate < l.l_receiptdate &&
              l.l_shipdate < l.l_commitdate &&
              l.l_receiptdate >= from &&
              l.l_receiptdate < to,
          ),
          { left: (o) => o.o_orderkey, right: (l) => l.l_orderkey },
        )
        .groupBy((r) => ({ l_shipmode: r.l_shipmode }))
        .agg({
          high_line_count: sum((r) => (r.o_orderpriority === '1-URGENT' || r.o_orderpriority === '2-HIGH' ? 1 : 0)),
          low_line_count: sum((r) => (r.o_orderpriority !== '1-URGENT' && r.o_orderpriority !== '2-HIGH' ? 1 : 0)),
        })
        .sortBy((g) => g.l_shipmode)
    },
    sql: () => `
      SELECT l_shipmode, sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
        sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
      FROM orders, lineitem
      WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
        AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
      GROUP BY l_shipmode ORDER BY l_shipmode`,
  },
  {
    name: 'q13',
    chain: ({ customer, orders }) =>
      customer
        .join(
          orders.filter((o) => !/special.*requests/.test(o.o_comment)),
          { left: (c) => c.c_custkey, right: (o) => o.o_custkey },
          { how: 'left' },
        )
        .groupBy((r) => ({ c_custkey: r.c_custkey }))
        .agg({ c_count: count((r) => r.o_orderkey) })
        .groupBy((g) => ({ c_count: g.c_count }))
        .agg({ custdist: count() })
        .sortBy((g) => [-g.custdist, -g.c_count]),
    sql: () => `
      SELECT c_count, count(*) AS custdist
      FROM (SELECT c_custkey, count(o_orderkey) AS c_count FROM customer
        LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey)
      GROUP BY c_count ORDER BY custdist DESC, c_count DESC`,
  },
  {
    name: 'q14',
    chain: async ({ lineitem, part }) => {
      const from = day('1995-09-01')
      const to = day('1995-10-01')
      const revenue = lineitem
        .filter((l) => l.l_shipdate >= from && l.l_shipdate < to)
        .join(part, { left: (l) => l.l_partkey, right: (p) => p.p_partkey })
        .map((r) => {
          const price = r.l_extendedprice * (1 - r.l_discount)
          return { price, promo: r.p_type.startsWith('PROMO') ? price : 0 }
        })
        .materialize()
      const promo = await revenue.map((r) => r.promo).sum()
      const all = await revenue.map((r) => r.price).sum()
      return [{ promo_revenue: (100 * promo) / all }]
    },
    sql: () => `
      SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
        / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
      FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'`,
  },
  {
    name: 'q15',
    chain: async ({ lineitem, supplier }) => {
      const from = day('1996-01-01')
      const to = day('1996-04-01')
      const revenue = lineitem
        .filter((l) => l.l_shipdate >= from && l.l_shipdate < to)
        .groupBy((l) => ({ supplier_no: l.l_suppkey }))
        .agg({ total_revenue: sum((l) => l.l_extendedprice * (1 - l.l_discount)) })
        .materialize()
      const most = await revenue.map((r) => r.total_revenue).max()
      return supplier
        .join(
          revenue.filter((r) => r.total_revenue === most),
          { left: (s) => s.s_suppkey, right: (r) => r.supplier_no },
        )
        .sortBy((s) => s.s_suppkey)
        .select('s_suppkey', 's_name', 's_address', 's_phone', 'total_revenue')
    },
    sql: () => `
      WITH revenue AS (SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue FROM lineitem
        WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' GROUP BY l_suppkey)
      SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM supplier, revenue
      WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY s_suppkey`,
  },
  {
    name: 'q16',
    chain: ({ partsupp, part, supplier }) => {
      const sizes = [49, 14, 23, 45, 19, 3, 36, 9]
      return partsupp
        .join(
          part.filter((p) => p.p_brand !== 'Brand#45' && !p.p_type.startsWith('MEDIUM POLISHED') && sizes.includes(p.p_size)),
          { left: (o) => o.ps_partkey, right: (p) => p.p_partkey },
        )
        .join(
          supplier.filter((s) => /Customer.*Complaints/.test(s.s_comment)),
          { left: (o) => o.ps_suppkey, right: (s) => s.s_suppkey },
          { how: 'anti' },
        )
        .groupBy((r) => ({ p_brand: r.p_brand, p_type: r.p_type, p_size: r.p_size }))
        .agg({ supplier_cnt: countDistinct((r) => r.ps_suppkey) })
        .sortBy((g) => [-g.supplier_cnt, g.p_brand, g.p_type, g.p_size])
    },
    sql: () => `
      SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part
      WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
        AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
        AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
      GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size`,
  },
  {
    name: 'q17',
    chain: async ({ lineitem, part }) => {
      const items = part
        .filter((p) => p.p_brand === 'Brand#23' && p.p_container === 'MED BOX')
        .join(lineitem, { left: (p) => p.p_partkey, right: (l) => l.l_partkey })
      const usual = items.groupBy((r) => ({ partkey: r.p_partkey })).agg({ quantity: mean((r) => r.l_quantity) })
      const price = await items
        .join(usual, { left: (r) => r.p_partkey, right: (u) => u.partkey })
        .filter((r) => r.l_quantity < 0.2 * (r.quantity ?? 0))
        .map((r) => r.l_extendedprice)
        .sum()
      return [{ avg_yearly: price / 7 }]
    },
    sql: () => `
      SELECT coalesce(sum(l_extendedprice), 0) / 7.0 AS avg_yearly FROM lineitem, part
      WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
        AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)`,
  },
  {
    name: 'q18',
    chain: ({ customer, orders, lineitem }) => {
      const large = lineitem
        .groupBy((l) => ({ orderkey: l.l_orderkey }))
        .agg({ quantity: sum((l) => l.l_quantity) })
        .filter((g) => g.quantity > 300)
      return orders
        .join(large, { left: (o) => o.o_orderkey, right: (g) => g.orderkey }, { how: 'semi' })
        .join(customer, { left: (o) => o.o_custkey, right: (c) => c.c_custkey })
        .join(lineitem, { left: (o) => o.o_orderkey, right: (l) => l.l_orderkey })
        .groupBy((r) => ({
          c_name: r.c_name,
          c_custkey: r.o_custkey,
          o_orderkey: r.o_orderkey,
          o_orderdate: r.o_orderdate,
          o_totalprice: r.o_totalprice,
        }))
        .agg({ quantity: sum((r) => r.l_quantity) })
        .sortBy((g) => [-g.o_totalprice, g.o_orderdate])
        .limit(100)
    },
    sql: () => `
      SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
      FROM customer, orders, lineitem
      WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey
      GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate LIMIT 100`,
  },
  {
    name: 'q19',
    chain: async ({ lineitem, part }) => {
      const small = ['SM CASE', 'SM BOX', 'SM PACK', 'SM PKG']
      const medium = ['MED BAG', 'MED BOX', 'MED PKG', 'MED PACK']
      const large = ['LG CASE', 'LG BOX', 'LG PACK', 'LG PKG']
      const revenue = await lineitem
        .filter((l) => (l.l_shipmode === 'AIR' || l.l_shipmode === 'AIR REG') && l.l_shipinstruct === 'DELIVER IN PERSON')
        .join(part, { left: (l) => l.l_partkey, right: (p) => p.p_partkey })
        .filter(
          (r) =>
            (r.p_brand === 'Brand#12' &&
              small.includes(r.p_container) &&
              r.l_quantity >= 1 &&
              r.l_quantity <= 11 &&
              r.p_size >= 1 &&
              r.p_size <= 5) ||
            (r.p_brand === 'Brand#23' &&
              medium.includes(r.p_container) &&
              r.l_quantity >= 10 &&
              r.l_quantity <= 20 &&
              r.p_size >= 1 &&
              r.p_size <= 10) ||
            (r.p_brand === 'Brand#34' &&
              large.includes(r.p_container) &&
              r.l_quantity >= 20 &&
              r.l_quantity <= 30 &&
              r.p_size >= 1 &&
              r.p_size <= 15),
        )
        .map((r) => r.l_extendedprice * (1 - r.l_discount))
        .sum()
      return [{ revenue }]
    },
    sql: () => `
      SELECT coalesce(sum(l_extendedprice * (1 - l_discount)), 0) AS revenue FROM lineitem, part
      WHERE p_partkey = l_partkey AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
        AND ((p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
            AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5)
          OR (p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
            AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10)
          OR (p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
            AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15))`,
  },
  {
    name: 'q20',
    chain: ({ supplier, nation, partsupp, part, lineitem }) => {
      const from = day('1994-01-01')
      const to = day('1995-01-01')
      const sold = lineitem
        .filter((l) => l.l_shipdate >= from && l.l_shipdate < to)
        .groupBy((l) => ({ partkey: l.l_partkey, suppkey: l.l_suppkey }))
        .agg({ quantity: sum((l) => l.l_quantity) })
      const stocked = partsupp
        .join(
          part.filter((p) => p.p_name.startsWith('forest')),
          { left: (o) => o.ps_partkey, right: (p) => p.p_partkey },
          { how: 'semi' },
        )
        .join(sold, { left: (o) => [o.ps_partkey, o.ps_suppkey], right: (s) => [s.partkey, s.suppkey] })
        .filter((o) => o.ps_availqty > 0.5 * o.quantity)
      return supplier
        .join(stocked, { left: (s) => s.s_suppkey, right: (o) => o.ps_suppkey }, { how: 'semi' })
        .join(
          nation.filter((n) => n.n_name === 'CANADA'),
          { left: (s) => s.s_nationkey, right: (n) => n.n_nationkey },
        )
        .sortBy((s) => s.s_name)
        .select('s_name', 's_address')
    },
    sql: () => `
      SELECT s_name, s_address FROM supplier, nation
      WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp
          WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
            AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem
              WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'))
        AND s_nationkey = n_nationkey AND n_name = 'CANADA'
      ORDER BY s_name`,
  },
  {
    name: 'q21',
    chain: ({ supplier, lineitem, orders, nation }) => {
      // of orders with several suppliers, those that only one of them kept waiting
      const suppliers = lineitem.groupBy((l) => ({ orderkey: l.l_orderkey })).agg({ suppliers: countDistinct((l) => l.l_suppkey) })
      const late = lineitem.filter((l) => l.l_receiptdate > l.l_commitdate)
      const waiting = late
        .groupBy((l) => ({ orderkey: l.l_orderkey }))
        .agg({ lateSuppliers: countDistinct((l) => l.l_suppkey) })
        .filter((g) => g.lateSuppliers === 1)
      return late
        .join(
          suppliers.filter((g) => g.suppliers > 1),
          { left: (l) => l.l_orderkey, right: (g) => g.orderkey },
          { how: 'semi' },
        )
        .join(waiting, { left: (l) => l.l_orderkey, right: (g) => g.orderkey }, { how: 'semi' })
        .join(
          orders.filter((o) => o.o_orderstatus === 'F'),
          { left: (l) => l.l_orderkey, right: (o) => o.o_orderkey },
          { how: 'semi' },
        )
        .join(supplier, { left: (l) => l.l_suppkey, right: (s) => s.s_suppkey })
        .join(
          nation.filter((n) => n.n_name === 'SAUDI ARABIA'),
          { left: (s) => s.s_nationkey, right: (n) => n.n_nationkey },
        )
        .groupBy((r) => ({ s_name: r.s_name }))
        .agg({ numwait: count() })
        .sortBy((g) => [-g.numwait, g.s_name])
        .limit(100)
    },
    sql: () => `
      SELECT s_name, count(*) AS numwait FROM supplier, lineitem l1, orders, nation
      WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate
        AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
        AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
          AND l3.l_receiptdate > l3.l_commitdate)
        AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA'
      GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100`,
  },
  {
    name: 'q22',
    chain: async ({ customer, orders }) => {
      const codes = ['13', '31', '23', '29', '30', '18', '17']
      const some = customer
        .map((c) => ({ custkey: c.c_custkey, cntrycode: c.c_phone.slice(0, 2), acctbal: c.c_acctbal }))
        .filter((c) => codes.includes(c.cntrycode))
      const average =
        (await some
          .filter((c) => c.acctbal > 0)
          .map((c) => c.acctbal)
          .mean()) ?? 0
      return some
        .filter((c) => c.acctbal > average)
        .join(orders, { left: (c) => c.custkey, right: (o) => o.o_custkey }, { how: 'anti' })
        .groupBy((c) => ({ cntrycode: c.cntrycode }))
        .agg({ numcust: count(), totacctbal: sum((c) => c.acctbal) })
        .sortBy((g) => g.cntrycode)
    },
    sql: () => `
      SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
      FROM (SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal FROM customer
        WHERE substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17')
          AND c_acctbal > (SELECT avg(c_acctbal) FROM customer
            WHERE c_acctbal > 0.00 AND substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17'))
          AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey))
      GROUP BY cntrycode ORDER BY cntrycode`,
  },
]
