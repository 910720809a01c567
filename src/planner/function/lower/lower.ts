/** Lowers a function's normalized tree to the IR of `core/ir/functionIr.ts`, or to the reasons why the IR cannot say it. */

import { type Expr, expressionsOf, type FunctionIr, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { inferTypes, type TypeOf, type TypeSources } from '../../../core/ir/irTypes.ts'
import type { Refusal } from '../../../core/span.ts'
import { inherited, newInstance, setterOf, superMember } from '../captures/classes.ts'
import { fromOutside } from '../captures/outside.ts'
import { keptHeld } from '../lists/held/heldLists.ts'
import { heldNumber } from '../lists/held/heldMade.ts'
import { HeldKinds } from '../lists/held/kinds.ts'
import { keptStored } from '../lists/keptStored.ts'
import { checkDictionaries, dictionaryMember } from '../lists/keyed/dictionaries.ts'
import type { TextShape } from '../lists/keyed/textShapes.ts'
import { keptView, rowDeclarations, rowsUsed } from '../lists/movedArrays.ts'
import { learnOptionals, learnRecords, typed } from '../lists/optionals.ts'
import { itemParts, keptItem } from '../lists/records.ts'
import { keptMaybe } from '../maybeScalars.ts'
import { refusalOf } from '../refusals.ts'
import { bindArguments, bindPattern } from '../source/patterns.ts'
import { type Unit, wholeSpan } from '../unit.ts'
import { lowerAssignment, lowerUpdate } from './assignments.ts'
import { lowerCall, methodCall } from './calls.ts'
import { inputElement, type LowerContext } from './context.ts'
import { lowerEffect, lowerExpression } from './expressions.ts'
import { lowerYield, yielding } from './generators/generators.ts'
import { enterFunction, hoistVars, inlineCall } from './inline.ts'
import { Lowering } from './lowering.ts'
import type { KeyedAs, Missing, Optional, Shape, Verbs } from './loweringParts.ts'
import type { Given } from './loweringState.ts'
import { memberValue } from './members.ts'
import { withStacks } from './recursion/resumption.ts'
import { lowerReturned, lowerStatements } from './statements.ts'
import { keptRow } from './tableRows.ts'
import { isCodesTable, withCodes } from './textLocals.ts'
import type { Site } from './value.ts'

const VERBS: Verbs<Lowering> = {
  value: lowerExpression,
  effect: lowerEffect,
  statements: lowerStatements,
  inline: inlineCall,
  call: lowerCall,
  method: methodCall,
  bind: bindPattern,
  assignment: lowerAssignment,
  update: lowerUpdate,
  member: (l, of, name, node) => dictionaryMember(l, of, name, node) ?? memberValue(l, of, name, node),
  fromOutside,
  kept: keptStored,
  keptMaybe,
  keptRow,
  keptView,
  keptItem: (l, value) => (value.kind === 'held' ? keptHeld(l, value) : keptItem(l, value)),
  itemParts,
  heldNumber,
  yielded: lowerYield,
  yielding,
  instance: newInstance,
  inherited,
  superMember,
  setter: setterOf,
}

export interface Lowered {
  /** Absent where there are refusals. */
  readonly ir?: FunctionIr | undefined
  readonly refusals: readonly Refusal[]
  readonly missing: readonly Missing[]
  readonly captured: ReadonlyMap<string, unknown>
  readonly typeOf: TypeOf
  /** The function, and those of the user that it calls. */
  readonly units: ReadonlyMap<unknown, Unit>
}

/** Most tries of one function: each finds something new, which ends when all is known; more would be a mistake of ours, and no program. */
const MOST_TRIES = 100

export function lowerUnit(unit: Unit, context: LowerContext): Lowered {
  const [changing, indexed, shifted, guarded, truths] = Array.from({ length: 5 }, () => new Map()) as [Sets, Sets, Sets, Sets, Sets]
  const growing = new Map<unknown, Map<number, number>>()
  const recursive = new Map<unknown, Map<number, boolean>>()
  const checkedColumns = new Map<string, string>()
  const [moved, placed, rowsNeeded] = [new Map<unknown, Set<number>>(), new Map<unknown, Set<number>>(), new Map<string, RowCounts>()]
  const optionals = new Map<unknown, Map<number, Optional>>()
  const [records, itemsMoved] = [new Map<unknown, Map<number, Shape>>(), new Map<unknown, Set<number>>()]
  const held = new HeldKinds()
  const keyed = new Map<KeyedAs, Sets>()
  const known = {
    held,
    changing,
    indexed,
    growing,
    shifted,
    truths,
    guarded,
    recursive,
    moved,
    placed,
    rowsNeeded,
    optionals,
    records,
    itemsMoved,
    checkedColumns,
    keyed,
    texts: [] as readonly string[],
    textShapes: [] as readonly TextShape[],
  }
  let tried = lowerOnce(unit, context, { bigints: new Set(), ...known })
  // Only a whole try tells which literals have parts that are assigned, or chosen by a computed index, so the function is lowered again.
  for (let tries = 1; learnAll(); tries++) {
    if (tries === MOST_TRIES) return { ...tried.lowered, ir: undefined, refusals: [refusalOf('too-large', wholeSpan(unit))] }
    tried = lowerOnce(unit, context, { bigints: new Set(), ...known })
  }
  function learnAll(): boolean {
    const isNew = [
      learn(changing, tried.foundChanging),
      learn(indexed, tried.foundIndexed),
      learn(shifted, tried.foundShifted),
      learn(truths, tried.foundTruths),
      learn(guarded, tried.foundGuarded),
      learnCapacities(growing, tried.foundGrowing),
      learnRecursive(recursive, tried.foundRecursive),
      learn(moved, tried.foundMoved),
      learn(placed, tried.foundPlaced),
      learnRows(rowsNeeded, tried.banks),
      learnRecords(records, tried.foundRecords, tried.lowered.typeOf),
      learn(itemsMoved, tried.foundItemsMoved),
      held.learn(typed, tried.lowered.typeOf),
      learnColumns(checkedColumns, tried.columnsRead),
      learnKeyed(keyed, tried.foundKeyed),
      (keyed.size > 0 || tried.namesTexts) && tried.texts.length > known.texts.length,
    ]
    if (tried.foundShapes.length > 0) {
      known.textShapes = [...known.textShapes, ...tried.foundShapes]
      known.texts = [] // some of them may have such a shape
      return true
    }
    if (tried.texts.length > known.texts.length) known.texts = tried.texts
    // an element of a list that was not known to grow was undefined, which is no object that may be absent
    return isNew.includes(true) || learnOptionals(optionals, tried.foundOptionals, tried.lowered.typeOf)
  }
  const { lowered, noNumbers } = tried
  if (noNumbers.size === 0) return lowered
  // Whether `x++` adds 1 or 1n depends on the type of x, and the types of locals on what is added to them.
  const again = lowerOnce(unit, context, { bigints: noNumbers, ...known }).lowered
  return again.refusals.length < lowered.refusals.length ? again : lowered
}

type Sets = Map<unknown, Set<number>>

/** Adds found literals to the known ones; whether one was new. */
function learn(known: Sets, found: readonly Site[]): boolean {
  let isNew = false
  for (const { unit, start } of found) {
    const starts = known.get(unit.f) ?? new Set()
    known.set(unit.f, starts)
    isNew ||= !starts.has(start)
    starts.add(start)
  }
  return isNew
}

/** Adds what was found of collections; whether something was new. */
function learnKeyed(known: Map<KeyedAs, Sets>, found: Lowering['foundKeyed']): boolean {
  const isNew = found.map(({ site, as }) => {
    const sites: Sets = known.get(as) ?? new Map()
    known.set(as, sites)
    return learn(sites, [site])
  })
  return isNew.includes(true)
}

/** Adds tables with the first column read of each; whether a table was new. */
function learnColumns(known: Map<string, string>, found: ReadonlyMap<string, string>): boolean {
  const before = known.size
  for (const [table, column] of found) if (!known.has(table)) known.set(table, column)
  return known.size > before
}

type RowCounts = ReturnType<typeof rowsUsed>

/** Adds the rows that a try needs in its banks; whether there were fewer before. */
function learnRows(known: Map<string, RowCounts>, banks: Lowering['banks']): boolean {
  let isNew = false
  for (const [key, bank] of banks) {
    const [before, used] = [known.get(key), rowsUsed(bank)]
    if (before !== undefined && before.again >= used.again && before.once >= used.once) continue
    known.set(key, { again: Math.max(used.again, before?.again ?? 0), once: Math.max(used.once, before?.once ?? 0) })
    isNew = true
  }
  return isNew
}

/** Adds functions that call themselves; whether one was new, or is now known to do so before its end. */
function learnRecursive(known: Map<unknown, Map<number, boolean>>, found: Lowering['foundRecursive']): boolean {
  let isNew = false
  for (const { site, isDeep } of found) {
    const starts = known.get(site.unit.f) ?? new Map<number, boolean>()
    known.set(site.unit.f, starts)
    if (starts.get(site.start) === true || starts.get(site.start) === isDeep) continue
    starts.set(site.start, isDeep)
    isNew = true
  }
  return isNew
}

/** Adds up the elements pushed onto each literal; whether one needs more room than was known. */
function learnCapacities(known: Map<unknown, Map<number, number>>, found: Lowering['foundGrowing']): boolean {
  const sums = new Map<unknown, Map<number, number>>()
  for (const { site, count } of found) {
    const starts = sums.get(site.unit.f) ?? new Map<number, number>()
    sums.set(site.unit.f, starts)
    starts.set(site.start, (starts.get(site.start) ?? 0) + count)
  }
  let isNew = false
  for (const [f, starts] of sums) {
    const before = known.get(f) ?? new Map<number, number>()
    known.set(f, before)
    for (const [start, count] of starts) {
      if (count <= (before.get(start) ?? -1)) continue
      before.set(start, count)
      isNew = true
    }
  }
  return isNew
}

interface Tried {
  readonly lowered: Lowered
  /** Locals that are incremented and were found not to be numbers. */
  readonly noNumbers: ReadonlySet<string>
  readonly foundChanging: readonly Site[]
  readonly foundIndexed: readonly Site[]
  readonly foundShifted: readonly Site[]
  readonly foundTruths: readonly Site[]
  readonly foundGuarded: readonly Site[]
  readonly foundGrowing: Lowering['foundGrowing']
  readonly foundRecursive: Lowering['foundRecursive']
  readonly foundMoved: readonly Site[]
  readonly foundPlaced: readonly Site[]
  readonly banks: Lowering['banks']
  readonly foundOptionals: Lowering['foundOptionals']
  readonly foundRecords: Lowering['foundRecords']
  readonly foundItemsMoved: readonly Site[]
  readonly columnsRead: Lowering['columnsRead']
  readonly foundKeyed: Lowering['foundKeyed']
  readonly texts: readonly string[]
  readonly foundShapes: readonly TextShape[]
  /** Whether texts are found by their codes. */
  readonly namesTexts: boolean
}

function lowerOnce(unit: Unit, context: LowerContext, given: Omit<Given<Lowering>, 'verbs'>): Tried {
  const l = new Lowering(context, unit, { verbs: VERBS, ...given })
  const noNumbers = new Set<string>()
  const foundGuarded: Site[] = []
  const { node } = unit
  const span = wholeSpan(unit)
  l.frames.push({ node, unit, targets: [] })
  if (node.async) l.refuse('async', node)
  else if (node.generator) l.refuse('generator', node)
  else {
    enterFunction(l, { kind: 'closure', unit, node, name: unit.f.name })
    bindArguments(l, node.params)
    if (node.body.type === 'BlockStatement') {
      hoistVars(l, unit, node)
      l.verbs.statements(l, node.body.body)
    } else if (context.kind === 'loop' && context.isRange) l.verbs.effect(l, node.body)
    else lowerReturned(l, node.body)
  }
  const written = withoutLastReturn([...rowDeclarations(l), ...l.atStart, ...l.out])
  const coded = withCodes(l, written)
  checkDictionaries(l)
  const body = withStacks(l, coded.body, typeSources(l))
  const typeOf = typeOfWritten(inferTypes(body, typeSources(l)), coded.locals, () => inferTypes(written, typeSources(l)))
  for (const check of l.checks) {
    const found = typeOf(check.expr)
    if (found === undefined) continue
    const { type, nullable } = found
    const kinds = type.kind === 'unknown' ? undefined : nullable ? [type.kind, 'null' as const] : [type.kind]
    if (check.holds(kinds)) continue
    if (check.guard !== undefined && nullable && check.holds([type.kind])) foundGuarded.push(check.guard)
    if (check.keyed !== undefined) noteKeyed(l, check.keyed, type.kind)
    l.refuseWith(check.refusal)
    if (check.incremented !== undefined) noNumbers.add(check.incremented)
  }
  for (const { array, names, refusal } of l.listsGiven) if ((l.listNames.get(array) ?? 0) !== names) l.refuseWith(refusal)
  if (l.isTooLarge) l.refuseWith(refusalOf('too-large', span))
  const name = unit.f.name === '' ? (context.kind === 'row' ? context.method : 'body') : unit.f.name
  const { refusals, missing, captured, units } = l
  units.set(unit.f, unit)
  const ir = refusals.length === 0 ? { ir: { name, span, body, ...usedParts(body, l) } } : {}
  return {
    lowered: { ...ir, refusals, missing, captured, typeOf, units },
    noNumbers,
    foundChanging: l.foundChanging,
    foundIndexed: l.foundIndexed,
    foundShifted: l.foundShifted,
    foundTruths: l.foundTruths,
    foundGuarded,
    foundGrowing: l.foundGrowing,
    foundRecursive: l.foundRecursive,
    foundMoved: l.foundMoved,
    foundPlaced: l.foundPlaced,
    banks: l.banks,
    foundOptionals: l.foundOptionals,
    foundRecords: l.foundRecords,
    foundItemsMoved: l.foundItemsMoved,
    columnsRead: l.columnsRead,
    foundKeyed: l.foundKeyed,
    texts: l.textsByCode,
    foundShapes: l.foundShapes,
    namesTexts: l.textTable !== undefined,
  }
}

/** Notes that a collection holds texts or truth values: the next try makes one for these. */
function noteKeyed(l: Lowering, { site, of }: NonNullable<Lowering['checks'][number]['keyed']>, kind: string): void {
  if (kind === 'utf8') l.foundKeyed.push({ site, as: of === 'keys' ? 'text keys' : 'text values' })
  if (kind === 'bool' && of === 'values') l.foundKeyed.push({ site, as: 'truth values' })
}

/** Returns the types of expressions as they are written: locals that have become codes of texts are texts there. */
function typeOfWritten(typeOf: TypeOf, codes: ReadonlySet<string>, written: () => TypeOf): TypeOf {
  if (codes.size === 0) return typeOf
  const before = written()
  return (expr) => {
    let isCoded = false
    visitExpr(expr, (one) => {
      isCoded ||= one.kind === 'Local' && codes.has(one.name)
    })
    return isCoded ? before(expr) : typeOf(expr)
  }
}

/** Drops a return without a value at the very end. */
function withoutLastReturn(body: FunctionIr['body']): FunctionIr['body'] {
  const last = body.at(-1)
  return last?.kind === 'Return' && last.value === undefined ? body.slice(0, -1) : body
}

/** Returns what the body really names: a name may have been taken out of env and never used. */
function usedParts(body: FunctionIr['body'], l: Lowering): Omit<FunctionIr, 'name' | 'span' | 'body'> {
  const names = new Set<string>()
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'Write' || stmt.kind === 'Add') names.add(stmt.array)
    if (stmt.kind === 'Accumulate') names.add(stmt.accumulator)
    for (const top of expressionsOf(stmt))
      visitExpr(top, (expr) => {
        for (const name of namesIn(expr)) names.add(name)
      })
  })
  const used = (one: { readonly name: string }): boolean => names.has(one.name)
  const tables = l.tables.filter(used).map(({ of: _, ...table }) => table)
  const uses = l.uses.filter(used).map((use) => {
    const keeps = l.keeps.get(use.name)
    return keeps === undefined ? use : { ...use, keeps }
  })
  return { keyRank: l.keyRank, parameters: l.parameters.filter(used), tables, uses }
}

/** Returns the parameter, tables, array or generator that an expression itself names. */
function namesIn(expr: Expr): readonly string[] {
  if (expr.kind === 'Parameter') return [expr.name]
  if (expr.kind === 'Lookup' || expr.kind === 'LookupLength') return [expr.table]
  if (expr.kind === 'Find') return [expr.keys, ...(expr.values === undefined ? [] : [expr.values])]
  if (expr.kind === 'Draw') return [expr.rng]
  return expr.kind === 'Read' || expr.kind === 'Has' || expr.kind === 'Extent' ? [expr.array] : []
}

const NO_CODES = new Int32Array(1)

function typeSources(l: Lowering): TypeSources {
  return {
    input: (argument) => inputElement(l.context, argument),
    parameter: (name) => l.parameters.find((one) => one.name === name)?.value,
    table: (name) => (isCodesTable(name) ? NO_CODES : l.tables.find((one) => one.name === name)?.value),
    dtype: (array) => l.dtypes.get(array),
  }
}
