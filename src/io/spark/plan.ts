/**
 * Translates plans to relations of Spark: which parts of a plan run there, and what the server is told.
 *
 *     Index                     Index
 *       Filter                    SparkExec sc://host:15002 [user, movie, stars]
 *         Scan on the server  →       Filter
 *                                       Scan
 *
 * A part begins at tables of the server and ends where arrays with keys of their own begin, which loops are about. What
 * lies between has to be translated, or is refused.
 */

import { PlanError } from '../../core/errors.ts'
import { isKnown } from '../../core/plan/elements.ts'
import { inputsOf, type LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { mapInputs, nodeText } from '../../core/plan/tree.ts'
import { placeText } from '../../core/span.ts'
import { alias, cast, column, project } from './expressions/build.ts'
import { joined } from './joins.ts'
import type { Relation } from './messages.ts'
import {
  castTo,
  deduplicated,
  filtered,
  grouped,
  lastOf,
  limited,
  mapped,
  sampled,
  selected,
  sorted,
  united,
  widened,
  windowed,
  without,
} from './relations.ts'
import { names } from './scope.ts'
import { sqlTypeOf } from './sparkTypes.ts'
import { elementFields, type SparkColumn, type Translated, type Translator } from './translated.ts'
import { Untranslated } from './untranslated.ts'

type Scan = Extract<LogicalPlan, { readonly kind: 'Scan' }>

/** Gives the relation of a table: one of the server, or one that is sent to it. */
export type TableOf = (scan: Scan) => Relation

/** Translates a plan. Throws Untranslated for operations that cannot be said. */
export function translate(plan: LogicalPlan, tableOf: TableOf): Translated {
  const done = new Map<LogicalPlan, Translated>()
  const translator: Translator = {
    names: names(),
    of(node) {
      const known = done.get(node)
      if (known !== undefined) return known
      const made = translateNode(node, translator, tableOf)
      done.set(node, made)
      return made
    },
  }
  return translator.of(plan)
}

function translateNode(plan: LogicalPlan, translator: Translator, tableOf: TableOf): Translated {
  if (!isKnown(plan.element))
    throw new Untranslated('gives what only running it can tell', undefined, 'Return an object whose fields are written there.')
  switch (plan.kind) {
    case 'Scan':
      return plan.source.remote?.kind === 'query' ? translator.of(plan.source.remote.plan) : scanned(plan, translator, tableOf)
    case 'Map':
      return mapped(plan, translator.of(plan.input), translator)
    case 'Filter':
      return filtered(plan, translator.of(plan.input), translator)
    case 'WithColumns':
      return widened(plan, translator.of(plan.input), translator)
    case 'Project':
      return selected(plan.columns, translator.of(plan.input), translator)
    case 'Cast':
      return castTo(plan, translator.of(plan.input), translator)
    case 'GroupBy':
      return grouped(plan, translator.of(plan.input), translator)
    case 'Join':
      return joined(plan, [translator.of(plan.left), translator.of(plan.right)], translator)
    case 'Sort':
      return sorted(plan, translator.of(plan.input), translator)
    case 'Window':
      return windowed(plan, translator.of(plan.input), translator)
    case 'Distinct':
      return deduplicated(translator.of(plan.input), translator)
    case 'Union':
      return united(
        plan,
        plan.inputs.map((input) => translator.of(input)),
        translator,
      )
    case 'Limit':
      return limited(translator.of(plan.input), plan.count)
    case 'Offset': {
      const order = sortOf(plan.input)
      // Spark takes the last rows of what is sent alone: below other steps they are the first of the order turned round
      if (plan.offset < 0 && order?.kind === 'Sort' && order.limit === undefined)
        return lastOf(order, -plan.offset, translator.of(order.input), translator)
      if (plan.offset >= 0 && order !== undefined) return without(translator.of(plan.input), plan.offset)
      throw new Untranslated(
        'begins behind other rows, and tables of Spark have no order',
        undefined,
        'Sort the rows first, or number them in a window() with an orderBy.',
      )
    }
    case 'AsofJoin':
      throw new Untranslated('joins as of an order', plan.on.left.span, 'Materialize both sides first, or use fallback: "local".')
    case 'Sample':
      return sampled(plan, translator.of(plan.input))
    case 'Draw':
      throw new Untranslated(
        'draws so many rows by their numbers, and tables of Spark have no order',
        undefined,
        'Draw a fraction of them, as in sample(0.1, { seed }).',
      )
    case 'FlatMap':
      throw new Untranslated('calls a function that gives any number of elements', plan.f.span, 'Join a table, or use fallback: "local".')
    case 'MapPartitions':
      throw new Untranslated('calls a function of whole partitions', plan.f.span, 'Use map(), or fallback: "local".')
    default:
      throw new Untranslated('is about arrays, which live here', undefined, 'Materialize it first.')
  }
}

/** The node that says in which order rows come: their sort, or a limit or offset of sorted rows; undefined where nothing does. */
function sortOf(plan: LogicalPlan): LogicalPlan | undefined {
  switch (plan.kind) {
    case 'Sort':
      return plan
    case 'Limit':
    case 'Offset':
      return sortOf(plan.input) === undefined ? undefined : plan
    case 'Scan':
      return plan.source.remote?.kind === 'query' ? sortOf(plan.source.remote.plan) : undefined
    default:
      return undefined
  }
}

/** A table with its columns under names of their own, cast to the types that they have here. */
function scanned(plan: Scan, { names: given }: Translator, tableOf: TableOf): Translated {
  const fields = elementFields(plan.source.element)
  const columns = plan.columns.flatMap((name): SparkColumn[] => {
    const field = fields.find((one) => one.name === name)
    return field === undefined ? [] : [{ name: given.next(), field }]
  })
  const made = columns.map(({ name, field }) => alias(cast(column(field.name), sqlTypeOf(field.type)), name))
  const relation = tableOf(plan)
  return { relation: project(relation, made.length === 0 ? [alias({ literal: { integer: 1 } }, given.next())] : made), columns }
}

export interface Placing {
  /** The address of the server, for messages and plans. */
  readonly at: string
  /** Called with a node that is not translated and runs here instead; without it that is an error. */
  readonly fallback?: ((node: LogicalPlan, why: Untranslated) => void) | undefined
}

/** The plan with each part that runs on the server as one scan. PlanError for what cannot run there and has to. */
export function placed(plan: LogicalPlan, placing: Placing): LogicalPlan {
  const done = new Map<LogicalPlan, LogicalPlan>()
  const visit = (node: LogicalPlan): LogicalPlan => {
    const known = done.get(node)
    if (known !== undefined) return known
    const result = placedNode(mapInputs(node, visit), placing)
    done.set(node, result)
    return result
  }
  return visit(plan)
}

function placedNode(node: LogicalPlan, placing: Placing): LogicalPlan {
  if (node.kind === 'Scan') return node.source.remote?.kind === 'table' ? query(node, placing) : node
  const inputs = inputsOf(node)
  if (!inputs.some(isQuery) || !isOfTables(node)) return node
  // a table of this process is sent to the others of the operation
  const own = mapInputs(node, (input) => (isQuery(input) ? input : sent(input)))
  try {
    translate(own, () => ({}))
    return query(own, placing)
  } catch (error) {
    if (!(error instanceof Untranslated)) throw error
    if (placing.fallback === undefined) throw refused(node, error, placing)
    placing.fallback(node, error)
    return node
  }
}

/** Operations on tables; the others make arrays of them, or are about arrays. */
function isOfTables({ kind, keys }: LogicalPlan): boolean {
  if (keys.kind === 'explicit') return false
  return kind !== 'Repartition' && kind !== 'Materialize' && kind !== 'IndexBuild' && kind !== 'IndexLookup' && kind !== 'ShuffleKeys'
}

export function isQuery(plan: LogicalPlan): plan is Scan {
  return plan.kind === 'Scan' && plan.source.remote?.kind === 'query'
}

/** One scan of what the server makes of a node over the plans of its inputs. */
function query(node: LogicalPlan, { at }: Placing): LogicalPlan {
  // how its parts are handed on is the server's business
  const plan = mapInputs(unmarked(node), (input) =>
    isQuery(input) && input.source.remote?.kind === 'query' ? input.source.remote.plan : input,
  )
  return scanOf(plan, { kind: 'spark', name: at, element: node.element, splits: [], remote: { kind: 'query', plan } })
}

function unmarked({ pipelined: _, ...node }: LogicalPlan): LogicalPlan {
  return node
}

function sent(plan: LogicalPlan): LogicalPlan {
  const name = plan.kind === 'Scan' ? plan.source.name : nodeText(plan)
  return scanOf(plan, { kind: 'spark', name: `${name}, sent`, element: plan.element, splits: [], remote: { kind: 'sent', plan } })
}

function scanOf(plan: LogicalPlan, source: Scan['source']): LogicalPlan {
  return { kind: 'Scan', source, columns: elementFields(plan.element).map(({ name }) => name), element: plan.element, keys: plan.keys }
}

function refused(node: LogicalPlan, { message, span, cure }: Untranslated, { at }: Placing): PlanError {
  const place = span === undefined ? '' : `\n  ${placeText(span)} ${span.text}`
  return new PlanError(
    `Spark at ${at} cannot run ${nodeText(unmarked(node))}: it ${message}.${place}\n${cure}`,
    span === undefined ? {} : { span },
  )
}
