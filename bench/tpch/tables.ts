/** The rows of TPC-H's eight tables, and where their files come from. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { DistArray, Session } from 'distarray'

export interface Customer {
  c_custkey: number
  c_name: string
  c_address: string
  c_nationkey: number
  c_phone: string
  c_acctbal: number
  c_mktsegment: string
  c_comment: string
}
export interface Lineitem {
  l_orderkey: number
  l_partkey: number
  l_suppkey: number
  l_linenumber: number
  l_quantity: number
  l_extendedprice: number
  l_discount: number
  l_tax: number
  l_returnflag: string
  l_linestatus: string
  l_shipdate: Date
  l_commitdate: Date
  l_receiptdate: Date
  l_shipinstruct: string
  l_shipmode: string
  l_comment: string
}
export interface Nation {
  n_nationkey: number
  n_name: string
  n_regionkey: number
  n_comment: string
}
export interface Order {
  o_orderkey: number
  o_custkey: number
  o_orderstatus: string
  o_totalprice: number
  o_orderdate: Date
  o_orderpriority: string
  o_clerk: string
  o_shippriority: number
  o_comment: string
}
export interface Part {
  p_partkey: number
  p_name: string
  p_mfgr: string
  p_brand: string
  p_type: string
  p_size: number
  p_container: string
  p_retailprice: number
  p_comment: string
}
export interface Partsupp {
  ps_partkey: number
  ps_suppkey: number
  ps_availqty: number
  ps_supplycost: number
  ps_comment: string
}
export interface Region {
  r_regionkey: number
  r_name: string
  r_comment: string
}
export interface Supplier {
  s_suppkey: number
  s_name: string
  s_address: string
  s_nationkey: number
  s_phone: string
  s_acctbal: number
  s_comment: string
}

export interface Rows {
  customer: Customer
  lineitem: Lineitem
  nation: Nation
  orders: Order
  part: Part
  partsupp: Partsupp
  region: Region
  supplier: Supplier
}
export type Tables = { readonly [N in keyof Rows]: DistArray<Rows[N]> }

export const NAMES: readonly (keyof Rows)[] = ['customer', 'lineitem', 'nation', 'orders', 'part', 'partsupp', 'region', 'supplier']

/** The tables of a folder of Parquet files. */
export async function readTables(session: Session, folder: string): Promise<Tables> {
  const entries: [string, DistArray<unknown>][] = []
  for (const name of NAMES) entries.push([name, await session.readParquet(join(folder, `${name}.parquet`))])
  return Object.fromEntries(entries) as unknown as Tables // the columns are those that TPC-H names
}

/**
 * The folder of files at this scale, made by `tpchgen-cli` (PyPI, crates.io) unless it is there; why not, where that program
 * is not on the PATH.
 */
export function tpchFolder(scale: number, cache: string): { readonly folder: string } | { readonly absent: string } {
  const folder = join(cache, `tpch-${scale}`)
  if (existsSync(folder)) return { folder }
  const making = `${folder}.making`
  mkdirSync(making, { recursive: true })
  try {
    execFileSync('tpchgen-cli', ['parquet', '-s', String(scale), '-o', making], { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    return { absent: `no data: tpchgen-cli could not be run (pip install tpchgen-cli puts it on the PATH): ${String(error)}` }
  }
  renameSync(making, folder)
  return { folder }
}
