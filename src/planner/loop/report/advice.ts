/**
 * Searches for the smallest edit of a program that would free a loop.
 *
 * Edits are tried, not guessed: each says which conflicts it removes, and the schedule of what is left is chosen anew.
 * The first that reaches the wanted schedule (or a freer one) is the advice; single edits come before combinations.
 */
import { type Expr, expressionsOf, type FunctionIr, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { exprId } from '../../../core/ir/irFacts.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Access } from '../accesses/accesses.ts'
import type { Conflict } from '../dependence/dependence.ts'
import { type Vector, vectorId } from '../dependence/reach.ts'
import { chooseSchedule, distinctVectors, KINDS, type PlannedKind } from '../schedule.ts'
import { type Indexed, indexFreeing } from './indexAdvice.ts'

export interface AdviceContext {
  readonly spec: LoopSpec
  readonly ir: FunctionIr
  readonly conflicts: readonly Conflict[]
  /** The vectors of the conflicts, each once. */
  readonly vectors: readonly Vector[]
  /** Whether the loop runs in parallel as it is. */
  readonly parallel: boolean
}

interface Edit {
  readonly text: string
  /** Whether the loop means the same afterwards, except for the order of additions. */
  readonly keepsMeaning?: true
  readonly order?: 'any'
  /** Whether the edit removes all conflicts on the array. */
  readonly isWhole?: true
  /** Whether the edit removes a conflict. */
  removes(conflict: Conflict): boolean
}

interface ArrayEdits {
  readonly array: number
  readonly edits: readonly Edit[]
}

const ORDER: Edit = { text: "ask for { order: 'any' }", order: 'any', removes: () => false }

/**
 * Returns a function from a schedule kind to the smallest edit after which the loop can run like that or freer; undefined where none was
 * found. A loop that is parallel already is only told of edits that keep its meaning.
 */
export function advisor({ spec, ir, conflicts, parallel }: AdviceContext): (wanted: PlannedKind) => string | undefined {
  const order = spec.options.order ?? 'serial'
  const orders = order === 'serial' ? [ORDER] : []
  const onArrays = arrayEdits(spec, ir, conflicts).map(({ array, edits }) => ({
    array,
    edits: edits.filter((edit) => !parallel || edit.keepsMeaning === true),
  }))
  const single = onArrays.flatMap(({ edits }) => edits)
  const candidates: Edit[][] = [
    ...orders.map((edit) => [edit]),
    ...single.map((edit) => [edit]),
    ...single.flatMap((edit) => orders.map((other) => [edit, other])),
    onArrays.flatMap(({ edits }) => edits.slice(0, 1)),
    onArrays.flatMap(({ edits }) => edits.slice(-1)),
  ]
  // Schedule ranks by the vectors that are left, since many edits leave the same ones.
  const reached = new Map<string, number>()
  const rankAfter = (edits: Edit[]): number => {
    const left = distinctVectors(conflicts.filter((conflict) => !edits.some((edit) => edit.removes(conflict))))
    const space = { extents: spec.over.extents, order: edits.some((edit) => edit.order === 'any') ? ('any' as const) : order }
    const id = [space.order, ...left.map(vectorId)].join(' | ')
    const rank = reached.get(id) ?? KINDS.indexOf(chooseSchedule(left, space).schedule.kind)
    reached.set(id, rank)
    return rank
  }
  const indexed = parallel ? undefined : overIndex(indexFreeing(spec, ir, conflicts), onArrays)
  return (wanted) => {
    const found = candidates.find((edits) => edits.length > 0 && rankAfter(edits) <= KINDS.indexOf(wanted))
    const isSmaller = indexed !== undefined && (found === undefined || indexed.length < found.length)
    return (isSmaller ? indexed : found?.map((edit) => edit.text))?.join(', and ')
  }
}

/** Returns the index and the smallest edit of each array that it does not free; undefined where one of them has none. */
function overIndex(index: Indexed | undefined, onArrays: readonly ArrayEdits[]): readonly string[] | undefined {
  if (index === undefined) return undefined
  const others = onArrays.filter(({ array }) => !index.freed.has(array)).map(({ edits }) => edits.find((edit) => edit.isWhole === true))
  return others.includes(undefined) ? undefined : [index.text, ...others.flatMap((edit) => edit?.text ?? [])]
}

/** Returns the edits that would free each array with conflicts, the smallest first. */
function arrayEdits(spec: LoopSpec, ir: FunctionIr, conflicts: readonly Conflict[]): ArrayEdits[] {
  const arrays = [...new Set(conflicts.map((conflict) => conflict.from.array))]
  return arrays.map((array) => {
    const own = conflicts.filter((conflict) => conflict.from.array === array)
    const name = own[0]?.from.name ?? ''
    const onArray = (conflict: Conflict) => conflict.from.array === array
    const edits: Edit[] = []
    const uses = usesOf(spec, ir, array)
    const update = uses.updates > 0 && uses.sets === 0 && uses.reads === 0 ? uses.firstUpdate : undefined
    if (update !== undefined) {
      const scalar = own.every(({ from, to }) => [from, to].every(isConstantElement))
      if (scalar)
        edits.push({
          text: `sum into an accumulator, loss = session.accumulator('sum') and loss.add(…), instead of ${update}`,
          keepsMeaning: true,
          isWhole: true,
          removes: onArray,
        })
      else edits.push({ text: `write ${name}.add(…) instead of ${update}`, keepsMeaning: true, isWhole: true, removes: onArray })
    }
    const index = indexArrayOf(spec, own)
    if (index !== undefined) {
      const text = `promise { assume: { distinct: ['${index}'] } } if the values of ${index} differ between iterations`
      edits.push({
        text,
        removes: (conflict) => onArray(conflict) && [conflict.from, conflict.to].every((access) => readsFrom(access, index)),
      })
    }
    if (own.some((conflict) => conflict.kind !== 'output')) edits.push(otherArray(name, own, onArray))
    // An array whose values are subscripts of others is needed with its last updates.
    const places = conflicts.some(({ from, to }) => readsFrom(from, name) || readsFrom(to, name))
    if (uses.sets === 0 && uses.updates + uses.adds > 0 && !places)
      edits.push({ text: `use ${name}.buffer() in env and add to it, if reads may see the last flush`, isWhole: true, removes: onArray })
    if (uses.adds === 0 && own.every((conflict) => conflict.kind === 'output')) edits.push(ownElements(name, onArray))
    return { array, edits }
  })
}

/** Returns the edit to write another array. It keeps the meaning where no read sees what another iteration wrote. */
function otherArray(name: string, conflicts: readonly Conflict[], onArray: (conflict: Conflict) => boolean): Edit {
  const removes = (conflict: Conflict) => onArray(conflict) && conflict.kind !== 'output'
  const text = `write to another array than ${name}`
  if (conflicts.every((conflict) => conflict.kind !== 'flow')) return { text, keepsMeaning: true, removes }
  return { text: `${text}, if reads may see its values from before the loop`, removes }
}

/** Returns the edit that gives each iteration an element or row of its own, for arrays on which iterations only overwrite one another. */
function ownElements(name: string, onArray: (conflict: Conflict) => boolean): Edit {
  return { text: `give ${name} an axis for the iterations, so that each writes its own, and pick from it after the loop`, removes: onArray }
}

/** The uses of an array in a body; updates are `A.set(k, A.get(k) + x)`, which `add` would do as well. */
interface Uses {
  /** Reads that are no part of an update. */
  readonly reads: number
  readonly sets: number
  readonly updates: number
  readonly adds: number
  readonly firstUpdate: string | undefined
}

function usesOf(spec: LoopSpec, ir: FunctionIr, array: number): Uses {
  const isArray = (name: string) => {
    const binding = spec.env[name]
    return binding?.kind === 'array' && binding.array === array
  }
  let reads = 0
  let sets = 0
  let adds = 0
  const updates: string[] = []
  visitStmts(ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (node) => {
        if ((node.kind === 'Read' || node.kind === 'Has') && isArray(node.array)) reads++
      })
    }
    if ((stmt.kind !== 'Write' && stmt.kind !== 'Add') || !isArray(stmt.array)) return
    const { value } = stmt
    const sum = value.kind === 'Binary' && (value.operator === '+' || value.operator === '-') ? value : undefined
    const old = sum === undefined ? [] : sum.operator === '+' ? [sum.left, sum.right] : [sum.left]
    const readsSame = (expr: Expr) => expr.kind === 'Read' && isArray(expr.array) && exprId(expr.subscripts) === exprId(stmt.subscripts)
    if (stmt.kind === 'Add') adds++
    else if (old.some(readsSame)) updates.push(stmt.span.text)
    else sets++
  })
  // Every iteration reads the element iterated over, and a returned value is a `set`.
  const iterated = spec.over.array === array ? 1 : 0
  return { reads: reads - updates.length + iterated, sets: sets + iterated, updates: updates.length, adds, firstUpdate: updates[0] }
}

function isConstantElement({ subscripts }: Access): boolean {
  return subscripts.every((subscript) => subscript.kind === 'affine' && subscript.form.terms.length === 0)
}

/** Returns the array in env that has the unknown subscripts, as `next` in `A.set(next.get(i), x)`; undefined for none. */
function indexArrayOf(spec: LoopSpec, conflicts: readonly Conflict[]): string | undefined {
  const names = Object.keys(spec.env).filter((name) => spec.env[name]?.kind === 'array')
  return names.find((name) => conflicts.length > 0 && conflicts.every(({ from, to }) => readsFrom(from, name) && readsFrom(to, name)))
}

function readsFrom({ subscripts }: Access, name: string): boolean {
  return subscripts.some((subscript) => subscript.kind === 'unknown' && subscript.reads === name)
}
