/**
 * Options objects at the call: a misspelt option would be ignored, and the program would run without what it asks for.
 */
import { valueText } from './data/valueKinds.ts'
import { PlanError } from './errors.ts'
import { nearestNames } from './nearestNames.ts'

/** The names that other libraries have for an option, too unlike its own name to be found by edit distance. Lower case, without `_` and `-`. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  descending: ['desc', 'asc', 'ascending', 'reverse', 'reversed', 'order', 'direction', 'dir'],
  orderBy: ['order', 'sort', 'sortby', 'orderedby'],
  delimiter: ['sep', 'separator', 'fieldseparator'],
  header: ['firstline', 'columnnames'],
  quote: ['quotechar', 'quotecharacter', 'enclosure'],
  comment: ['commentprefix', 'commentchar', 'comments'],
  skip: ['skiprows', 'skiplines'],
  nullValues: ['null', 'nulls', 'navalues', 'nullstr', 'nullstring'],
  decimal: ['decimalseparator', 'decimalcomma', 'decimalpoint'],
  types: ['dtype', 'dtypes', 'schema', 'converters', 'columntypes'],
  columns: ['select', 'usecols', 'fields', 'project'],
  int64: ['bigint', 'bigints', 'integers'],
  timeoutMs: ['requesttimeout', 'deadline'],
  headers: ['httpheaders', 'requestheaders', 'auth', 'authorization', 'token', 'credentials'],
  retries: ['retry', 'maxretries', 'attempts'],
  signal: ['abortsignal', 'abort', 'abortcontroller', 'cancel'],
  by: ['partitionby', 'on', 'key', 'keys', 'column', 'hash'],
  partitions: ['numpartitions', 'n', 'count', 'num', 'chunks', 'blocks', 'npartitions'],
  how: ['type', 'kind', 'jointype', 'mode'],
  suffix: ['rsuffix', 'lsuffix', 'postfix', 'prefix'],
  combine: ['aggregate', 'agg', 'merge', 'reduce', 'reducer', 'onduplicate', 'fn', 'op'],
  init: ['initial', 'initialvalue', 'zero', 'start', 'value', 'identity'],
  shape: ['dims', 'dimensions', 'size', 'extents'],
  storage: ['layout', 'format', 'dense', 'sparse'],
  axes: ['dims', 'dimensions'],
  seed: ['randomstate', 'random', 'rng'],
  scale: ['std', 'stddev', 'sigma', 'deviation', 'max', 'high'],
  distribution: ['kind', 'type'],
  dtype: ['type', 'kind'],
  compression: ['codec'],
  partitionBy: ['partitioncols', 'partitionkeys', 'partitions', 'hive'],
  existing: ['mode', 'overwrite', 'append', 'replace', 'ifexists'],
  rowGroupRows: ['rowgroupsize', 'rowgrouplength', 'batchsize'],
  workers: ['threads', 'numthreads', 'nthreads', 'cores', 'concurrency', 'parallelism', 'numworkers', 'maxworkers'],
  memory: ['memorylimit', 'maxmemory', 'budget', 'limit', 'heap'],
  passes: ['epochs', 'iterations', 'iters', 'repeat', 'times'],
  maxDelay: ['flushevery', 'every', 'interval', 'delay'],
  flushes: ['rounds', 'minibatches', 'batches', 'clocks', 'syncs'],
  staleness: ['slack', 'lag', 'late'],
  verbose: ['full', 'details'],
  analyze: ['analyse', 'profile', 'run', 'execute', 'timing', 'measure'],
  atomic: ['transaction', 'transactional', 'rollback'],
  checkRaces: ['races', 'detectraces'],
  tolerance: ['epsilon', 'eps', 'rtol', 'atol'],
  runs: ['numruns', 'cases', 'times'],
}

/** The cures for names that are no options of a method because the method takes the value in another way. */
const ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'join()': {
    ...Object.fromEntries(
      ['on', 'by', 'key', 'keys'].map((name) => [name, "What to join on is the second argument, as in join(other, 'id')."]),
    ),
    ...Object.fromEntries(
      ['leftOn', 'rightOn', 'left_on', 'right_on'].map((name) => [
        name,
        'What to join on is the second argument, as in join(other, { left: (row) => row.id, right: (row) => row.userId }).',
      ]),
    ),
  },
  'sortBy()': Object.fromEntries(
    ['nulls', 'nullsFirst', 'nullsLast'].map((name) => [
      name,
      "Nulls come last unless a key says otherwise, as in sortBy([{ by: (row) => row.price, nulls: 'first' }]).",
    ]),
  ),
}

/** Throws PlanError unless `options` is an object, as `{ passes: 2 }`, all of whose names are `known`. */
export function checkOptions(method: string, options: unknown, known: readonly string[]): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const is = method.startsWith('The ') ? `${method} is` : `The options of ${method} are`
    throw new PlanError(`${is} an object; it was given ${valueText(options)}.`)
  }
  const name = Object.keys(options).find((one) => !known.includes(one))
  if (name === undefined) return
  const all = known.length === 0 ? 'It takes none.' : `Its options are ${known.join(', ')}.`
  throw new PlanError(`${method} has no option "${name}".${hintFor(method, name, known)} ${all}`)
}

function hintFor(method: string, name: string, known: readonly string[]): string {
  const elsewhere = ELSEWHERE[method]
  if (elsewhere !== undefined && Object.hasOwn(elsewhere, name)) return ` ${elsewhere[name]}`
  const plain = name.toLowerCase().replace(/[_-]/g, '')
  // a synonym outweighs a similar name: partitionBy means by, not partitions
  const foreign = known.filter((one) => Object.hasOwn(SYNONYMS, one) && SYNONYMS[one]?.includes(plain))
  const meant = foreign.length > 0 ? foreign : nearestNames(name, known)
  return meant.length === 0 ? '' : ` Did you mean ${meant.map((one) => `"${one}"`).join(' or ')}?`
}
