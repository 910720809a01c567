/**
 * The traits of each kind of node, for code that treats all kinds alike. In `core` a new kind has its entry here, beside the union in `logicalPlan.ts`.
 */
import { defined } from '../defined.ts'
import type { Lowering } from '../engine.ts'
import type { UserFunction } from '../ir/functionIr.ts'
import { asofNode } from './asofPlan.ts'
import { joinPlan, unionPlan } from './combinations.ts'
import { functionsOfCall, type LogicalPlan, type SidesBy } from './logicalPlan.ts'
import { asofText, directionText, filesText, howText, joinKeyText, selectorText, windowCallText, windowText } from './nodeTexts.ts'
import { callsWithFunctions, howWithFunctions, sidesWith } from './planFunctions.ts'
import { predicateText } from './predicate.ts'
import { callbackOf, regrouped } from './regrouped.ts'
import {
  castPlan,
  distinctPlan,
  filterPlan,
  flatMapPlan,
  indexPlan,
  limitPlan,
  mapPlan,
  materializePlan,
  offsetPlan,
  repartitionPlan,
  samplePlan,
  selectPlan,
  shuffleKeysPlan,
  sortedBy,
  sortNode,
  withColumnsPlan,
} from './transformations.ts'
import { windowNode } from './windowPlan.ts'

type Kind = LogicalPlan['kind']
type NodeOf<K extends Kind> = Extract<LogicalPlan, { kind: K }>
type Now = (f: UserFunction) => UserFunction

export interface NodeTraits<N> {
  /** Writes what the node does, on one line; its kind where that is absent. */
  text?(node: N): string
  /** Names its array in messages, as a suffix to the name of its first input: `.limit(5)`. Where it is absent, the kind as a method. */
  label?(node: N): string
  /** Its fields that hold functions, with `now` applied to each, in the order they are printed. */
  withFunctions?(node: N, now: Now): object
  /** Its functions that take an element of its input; all of its functions where it is absent. */
  functionsOfElements?(node: N): readonly UserFunction[]
  /** Makes the node anew over other inputs, as its method would, with types derived again; where it is absent, the node stays as it is. */
  again?(node: N, inputs: readonly [LogicalPlan, ...LogicalPlan[]], lowering: Lowering): LogicalPlan
  /** Whether it consumes its input element by element and keeps none: its input need not be stored. */
  takesEach?(node: N): boolean
  /** Whether it computes its elements one after another, so that streaming its array saves storing it. */
  readonly flows?: true
  /** The element it yields: its input's, that with further columns, that without logical types of files, or another. */
  readonly element: 'input' | 'longer' | 'plain' | 'own'
  /** Whether its input needs no more columns than are read above it and by its own functions. */
  readonly isNarrowed?: true
  /** The keys it yields: its input's, those after elements were left out, row numbers, or others. */
  readonly keys: 'input' | 'thinned' | 'rowNumbers' | 'own'
  /** The values that decide the order of its elements, beside its inputs' order; undefined where that alone does. 'keys': the keys alone decide. */
  order?(node: N): 'keys' | undefined | readonly unknown[]
}

const yes = (): boolean => true
const byKeys = (): 'keys' => 'keys'
/** The traits shared by nodes with one function of elements. */
const OF_ROWS = {
  text: ({ kind, f }: { readonly kind: string; readonly f: UserFunction }) => `${kind} ${f.text}`,
  withFunctions: ({ f }: { readonly f: UserFunction }, now: Now) => ({ f: now(f) }),
  takesEach: yes,
  flows: true,
} as const

const NODE_TRAITS: { readonly [K in Kind]: NodeTraits<NodeOf<K>> } = {
  Scan: {
    text: ({ source, columns, predicate }) => {
      const where = predicate === undefined || predicate.length === 0 ? '' : ` where ${predicateText(predicate)}`
      if (source.remote?.kind === 'query') return `SparkExec ${source.name} [${columns.join(', ')}]`
      return `Scan ${source.name} [${columns.join(', ')}]${where}${filesText(source)}`
    },
    label: ({ source }) => source.name,
    element: 'own',
    keys: 'rowNumbers',
    order: ({ whole, source }) => [whole ?? source],
  },
  Array: {
    text: ({ name, dtype }) => `Array ${name} ${dtype}`,
    label: ({ name }) => name,
    element: 'own',
    keys: 'own',
    order: byKeys,
  },
  Stored: {
    text: ({ name, storage, columns }) => `Stored ${name} ${storage.kind}${columns === undefined ? '' : ` [${columns.join(', ')}]`}`,
    label: ({ name }) => name,
    element: 'own',
    keys: 'own',
    order: ({ storage }) => [storage],
  },
  Map: { ...OF_ROWS, again: ({ f }, [input], lowering) => mapPlan(lowering, input, callbackOf(f)), element: 'own', keys: 'input' },
  Filter: {
    ...OF_ROWS,
    again: ({ f }, [input], lowering) => filterPlan(lowering, input, callbackOf(f)),
    element: 'input',
    isNarrowed: true,
    keys: 'thinned',
  },
  WithColumns: {
    ...OF_ROWS,
    again: ({ f }, [input], lowering) => withColumnsPlan(lowering, input, callbackOf(f)),
    element: 'longer',
    keys: 'input',
  },
  FlatMap: {
    ...OF_ROWS,
    again: ({ f }, [input], lowering) => flatMapPlan(lowering, input, callbackOf(f)),
    element: 'own',
    keys: 'rowNumbers',
  },
  // its function takes all elements of a partition, not one
  MapPartitions: { ...OF_ROWS, functionsOfElements: () => [], element: 'own', keys: 'rowNumbers' },
  Project: {
    text: ({ columns }) => `Project [${columns.join(', ')}]`,
    label: ({ columns }) => `.select(${columns.map((column) => `'${column}'`).join(', ')})`,
    // a projection without columns is that of count(), and fits any input
    again: (node, [input]) => (node.columns.length === 0 ? { ...node, input, keys: input.keys } : selectPlan(input, node.columns)),
    takesEach: yes,
    flows: true,
    element: 'own',
    keys: 'input',
  },
  Cast: {
    text: ({ dtype }) => `Cast ${dtype}`,
    label: ({ dtype }) => `.cast('${dtype}')`,
    again: ({ dtype }, [input]) => castPlan(input, dtype),
    takesEach: yes,
    flows: true,
    element: 'own',
    keys: 'input',
  },
  Index: {
    text: ({ f, shape, storage, combine }) =>
      [
        `Index ${f.text}`,
        shape === undefined ? '' : ` shape [${shape.join(', ')}]`,
        storage === undefined ? '' : ` ${storage}`,
        combine === undefined ? '' : ` combine ${combine.text}`,
      ].join(''),
    withFunctions: ({ f, combine }, now) => defined({ f: now(f), combine: combine === undefined ? undefined : now(combine) }),
    functionsOfElements: ({ f }) => [f],
    again: ({ f, shape, storage, combine }, [input], lowering) =>
      indexPlan(
        lowering,
        input,
        callbackOf(f),
        defined({ combine: combine === undefined ? undefined : callbackOf(combine), shape, storage }),
      ),
    element: 'plain',
    isNarrowed: true,
    keys: 'own',
    order: byKeys,
  },
  GroupBy: {
    text: ({ by, how }) => `GroupBy ${by.kind === 'axis' ? `axis ${by.axis}` : by.f.text}: ${howText(how)}`,
    label: ({ how }) => `.groupBy(…).${how.kind}(…)`,
    withFunctions: ({ by, how }, now) => {
      const f = by.kind === 'axis' ? undefined : now(by.f)
      return { by: by.kind === 'axis' || f === by.f ? by : { kind: 'function', f }, how: howWithFunctions(how, now) }
    },
    functionsOfElements: ({ by, how }) => [
      ...(by.kind === 'function' ? [by.f] : []),
      ...(how.kind === 'agg' ? how.aggregates.flatMap(functionsOfCall) : []),
    ],
    again: (node, [input], lowering) => regrouped(node, input, lowering),
    takesEach: ({ how }) => how.kind === 'agg',
    element: 'own',
    keys: 'rowNumbers',
  },
  Join: {
    text: ({ how, on, matchesAlone }) => `Join ${how}${joinKeyText(on)}${matchesAlone === true ? ', matches alone' : ''}`,
    withFunctions: ({ on }, now) => {
      if (on.kind !== 'functions') return {}
      const sides = sidesWith(on, now)
      return { on: sides === on ? on : { ...on, ...sides } }
    },
    again: (node, [left, right], lowering) => {
      if (right === undefined) return node
      const { on, how, suffix } = node
      const byFunctions = on.kind === 'functions' ? (on.shared ?? callbacks(on)) : ''
      return joinPlan(lowering, left, right, on.kind === 'column' ? on.column : byFunctions, { how, suffix })
    },
    element: 'own',
    keys: 'rowNumbers',
    order: () => [],
  },
  AsofJoin: {
    text: (node) => `AsofJoin ${asofText(node)}`,
    label: () => '.joinAsof(…)',
    withFunctions: ({ on, by }, now) => defined({ on: sidesWith(on, now), by: by === undefined ? undefined : sidesWith(by, now) }),
    again: (node, [left, right], lowering) => {
      if (right === undefined) return node
      const { on, by, direction, tolerance, suffix, shared } = node
      const given = defined({ by: by === undefined ? undefined : callbacks(by), tolerance })
      return asofNode(lowering, left, right, { on: callbacks(on), ...given, direction, suffix, shared })
    },
    element: 'own',
    keys: 'rowNumbers',
    order: () => [],
  },
  Sort: {
    text: ({ by, descending, limit }) => `Sort ${by.text}${directionText(descending)}${limit === undefined ? '' : ` first ${limit}`}`,
    label: () => '.sortBy(…)',
    withFunctions: ({ by }, now) => ({ by: now(by) }),
    again: ({ by, descending }, [input], lowering) => sortNode(input, sortedBy(lowering, input, callbackOf(by)), descending),
    element: 'input',
    isNarrowed: true,
    keys: 'rowNumbers',
    order: ({ by, descending }) => [by.original, String(descending)],
  },
  Window: {
    text: (node) => `Window ${windowText(node)}: ${node.calls.map(windowCallText).join(', ')}`,
    withFunctions: ({ by, orderBy, calls }, now) =>
      defined({
        by: by === undefined ? undefined : now(by),
        orderBy: orderBy === undefined ? undefined : now(orderBy),
        calls: callsWithFunctions(calls, now),
      }),
    again: ({ by, orderBy, descending, frame, calls }, [input], lowering) => {
      const given = defined({
        by: by === undefined ? undefined : callbackOf(by),
        orderBy: orderBy === undefined ? undefined : callbackOf(orderBy),
      })
      const functions = calls.map(({ of, ...one }) => (of === undefined ? one : { ...one, of: callbackOf(of) }))
      return windowNode(lowering, input, { ...given, descending, frame }, functions)
    },
    element: 'longer',
    keys: 'input',
  },
  Distinct: { label: () => '.distinct()', again: (_, [input]) => distinctPlan(input), element: 'input', keys: 'rowNumbers' },
  Union: {
    again: (_, inputs) => unionPlan(inputs),
    takesEach: yes,
    flows: true,
    element: 'own',
    keys: 'rowNumbers',
    order: () => [],
  },
  Sample: {
    text: ({ fraction, seed }) => `Sample ${fraction} seed ${seed}`,
    again: ({ fraction, seed }, [input], lowering) => samplePlan(lowering, input, fraction, { seed }),
    takesEach: yes,
    flows: true,
    element: 'input',
    isNarrowed: true,
    keys: 'thinned',
  },
  Draw: {
    text: ({ count, seed }) => `Draw ${count} seed ${seed}`,
    label: () => '.sample(…)',
    again: ({ count, seed }, [input], lowering) => samplePlan(lowering, input, { n: count, seed }),
    element: 'input',
    isNarrowed: true,
    keys: 'thinned',
  },
  Limit: {
    text: ({ count }) => `Limit ${count}`,
    label: ({ count }) => `.limit(${count})`,
    again: ({ count }, [input]) => limitPlan(input, count),
    takesEach: yes,
    flows: true,
    element: 'input',
    isNarrowed: true,
    keys: 'thinned',
  },
  Offset: {
    text: ({ offset }) => (offset < 0 ? `Offset to the last ${-offset}` : `Offset ${offset}`),
    label: ({ offset }) => (offset < 0 ? `.tail(${-offset})` : ` from ${offset} on`),
    again: ({ offset }, [input]) => offsetPlan(input, offset),
    element: 'input',
    isNarrowed: true,
    keys: 'thinned',
  },
  Repartition: {
    text: ({ partitions, by }) =>
      `Repartition${partitions === undefined ? '' : ` ${partitions}`}${by === undefined ? '' : ` by ${by.text}`}`,
    withFunctions: ({ by }, now) => (by === undefined ? {} : { by: now(by) }),
    again: ({ partitions, by }, [input], lowering) =>
      repartitionPlan(lowering, input, defined({ partitions, by: by === undefined ? undefined : callbackOf(by) })),
    element: 'input',
    isNarrowed: true,
    keys: 'input',
    order: ({ partitions, by }) => (by === undefined ? undefined : [partitions ?? '', by.original]),
  },
  ShuffleKeys: {
    text: ({ axes, seed }) => `ShuffleKeys axes [${axes.join(', ')}] seed ${seed}`,
    again: ({ axes, seed }, [input]) => shuffleKeysPlan(input, { axes, seed }),
    element: 'input',
    isNarrowed: true,
    keys: 'input',
    order: ({ axes, seed }) => [axes.join(' '), seed],
  },
  Materialize: { label: () => '', again: (_, [input]) => materializePlan(input), element: 'input', keys: 'input' },
  IndexBuild: { label: () => '', element: 'input', keys: 'input', order: byKeys },
  IndexLookup: {
    text: ({ selectors }) => `IndexLookup [${selectors.map(selectorText).join(', ')}]`,
    label: () => '',
    element: 'own',
    keys: 'own',
    order: byKeys,
  },
}

/** The entry of the node's own kind. */
export function traitsOf(plan: LogicalPlan): NodeTraits<LogicalPlan> {
  return NODE_TRAITS[plan.kind] as NodeTraits<LogicalPlan>
}

function callbacks({ left, right }: SidesBy) {
  return { left: callbackOf(left), right: callbackOf(right) }
}
