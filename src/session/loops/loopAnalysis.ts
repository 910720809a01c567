/**
 * The analysis of a loop's body, done again when a value that it captures has changed: every run computes with the values that
 * the plain loop would see.
 */

import { DistArray, planOf } from '../../core/arrays/distArray.ts'
import type { IndexSpace } from '../../core/arrays/indexSpace.ts'
import { defined } from '../../core/defined.ts'
import type { Engine } from '../../core/engine.ts'
import { LoopError } from '../../core/errors.ts'
import type { AnalyzedLoop, LoopOver } from '../../core/loop/loopSpec.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { sameItems } from '../../core/sameItems.ts'
import type { ArrayStore } from '../../exec/tables/store/arrayStore.ts'
import { capturedHandles } from '../../planner/function/captures/capturedHandles.ts'
import { type CapturedState, capturedNow, sameCaptures } from '../../planner/function/captures/capturedNow.ts'
import { atOnce } from '../../planner/function/captures/inspected.ts'
import { irText } from '../../planner/function/irText.ts'
import type { LoopContext as BodyContext, ColumnPart, LocalArray } from '../../planner/function/lower/context.ts'
import { type LoweredFunction, lowerFunction } from '../../planner/function/userFunction.ts'
import { loopWithData, type Study, studyLoop } from '../../planner/loop/analyze.ts'
import type { LoopData } from '../../planner/loop/costedLoop.ts'
import { notParallelError } from '../../planner/loop/report/requireParallel.ts'
import { answerName, answersOf, questionId, type RowQuestion } from '../../planner/loop/rowAnswers.ts'
import { isRepeatable, searchesTexts, withAnswers } from '../../planner/loop/rowQuestions.ts'
import { type Bindings, bindNames, envValueOf, isHandle, isOf, overOfPlan, overOfSpace, ownPlanOf, sameBindings } from './loopBindings.ts'
import { checkPromises, isIndexSpace, type LoopRequest } from './loopRequest.ts'

/** The parts of a session that all its loops share. */
export interface LoopContext {
  readonly engine: Engine
  readonly store: ArrayStore
}

/** The captures read and the analysis made at the call of a run, which uses them whatever is read later. */
export interface Analysis {
  readonly study: Study
  /** The loop as studied, or with the schedule that the data of the last run decided. */
  readonly analyzed: AnalyzedLoop
  readonly bindings: Bindings
  /** The lengths of the captured tables when they were read. */
  readonly lengths: readonly number[]
  /** The body's captured values when it was analysed; undefined where they cannot be compared. */
  readonly captured: CapturedState | undefined
}

export class LoopAnalysis {
  readonly #request: LoopRequest
  readonly #context: LoopContext
  readonly #site: string | undefined
  readonly over: LoopOver
  /** The array iterated over; undefined for a range. */
  readonly overPlan: LogicalPlan | undefined
  /** The analysis of the pass under way, or of the last one. */
  #now: Analysis
  /** The analysis of the captures that were read last. */
  #latest: Analysis
  /** The arrays that stand for arrays which the body makes. */
  readonly #locals = new Map<string, DistArray<unknown>>()
  /** The columns of env's tables that the body reads, as arrays. */
  readonly #columns = new Map<object, Map<string, object>>()
  /** The arrays that answer the body's questions about its rows, by the question. */
  #answers: ReadonlyMap<string, object> = new Map()

  constructor(request: LoopRequest, context: LoopContext, site: string | undefined) {
    this.#request = request
    this.#context = context
    this.#site = site
    this.overPlan = isIndexSpace(request.over) ? undefined : ownPlanOf(request.over, 'the array iterated over', context.engine)
    this.over = this.overPlan === undefined ? overOfSpace(request.over as IndexSpace) : overOfPlan(this.overPlan, context.store)
    this.#now = atOnce(() => this.#analyze(this.#capturedNow()))
    this.#latest = this.#now
    checkPromises(request.options, this.bindings.arrays)
    this.#checkParallel(this.#now)
  }

  /** The loop's name in messages and events. */
  get name(): string {
    return this.#request.options.name ?? `loop over ${this.over.label}`
  }

  /** The analysis that the last run adopted. */
  get now(): Analysis {
    return this.#now
  }

  get analyzed(): AnalyzedLoop {
    return this.#now.analyzed
  }

  get bindings(): Bindings {
    return this.#now.bindings
  }

  /** The arrays that the loop reads or writes, those behind buffers not among them. */
  get nodes(): ReadonlySet<LogicalPlan> {
    return this.nodesOf(this.#now)
  }

  nodesOf({ bindings }: Analysis): ReadonlySet<LogicalPlan> {
    return new Set([...(this.overPlan === undefined ? [] : [this.overPlan]), ...bindings.arrays.values()])
  }

  /** Reads the captured values again for a run that begins; returns the last analysis where none has changed. */
  read(): Analysis {
    const captured = this.#capturedNow()
    const { captured: before } = this.#latest
    if (captured !== undefined && before !== undefined && sameCaptures(captured, before)) return this.#latest
    const next = this.#analyze(captured)
    if (sameInputs(this.#latest, next) && sameBindings(this.#latest.bindings, next.bindings)) {
      const same = { ...this.#latest, captured }
      if (this.#now === this.#latest) this.#now = same
      this.#latest = same
      return same
    }
    this.#checkParallel(next)
    this.#latest = next
    return next
  }

  /** Makes the analysis of a run the current one, for its passes. */
  adopt(analysis: Analysis): void {
    if (analysis.study !== this.#now.study) this.#now = analysis // otherwise the current one may already be settled by the data
  }

  /** Chooses among the legal schedules by the data of a run: the same data, the same schedule. */
  settle(data: LoopData): void {
    const settled = { ...this.#now, analyzed: loopWithData(this.#now.study, data) }
    if (this.#latest === this.#now) this.#latest = settled
    this.#now = settled
  }

  #checkParallel({ analyzed }: Analysis): void {
    if (this.#request.options.require !== 'parallel') return
    const error = notParallelError(analyzed)
    if (error !== undefined) throw error
  }

  #capturedNow(): CapturedState | undefined {
    const { env, body } = this.#request
    return capturedNow(body, env, isHandle)
  }

  /** The captures with all handles that a body which runs as it stands can reach through its closure. */
  #withAllHandles(captured: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
    const { env, body } = this.#request
    const { engine } = this.#context
    const all = new Map(captured)
    const known = new Set([...Object.values(env), ...captured.values()])
    for (const [handle, wanted] of capturedHandles(body, (value) => isHandle(value) && isOf(value, engine))) {
      if (known.has(handle)) continue
      let name = wanted
      for (let n = 1; Object.hasOwn(env, name) || all.has(name); n++) name = `${wanted}$${n}`
      all.set(name, handle)
    }
    return all
  }

  /** The array that stands for one which the body makes; the same one however often the body is analysed. */
  #localArray({ number, text, dtype, shape }: LocalArray): DistArray<unknown> {
    const key = `${number} ${dtype} ${shape.join(' ')}`
    const element = { kind: 'scalar', type: { kind: dtype }, nullable: false } as const
    const keys = { kind: 'explicit', rank: shape.length, shape, dense: true } as const
    const plan = { kind: 'Array', name: text, shape, dtype, init: { kind: 'zeros' }, element, keys } as const
    const array = this.#locals.get(key) ?? new DistArray(this.#context.engine, plan)
    this.#locals.set(key, array)
    return array
  }

  /** The array of a table's column; the same one however often the body is analysed. */
  #columnArray(table: object, column: string, part?: ColumnPart): object {
    const columns = this.#columns.get(table) ?? new Map<string, object>()
    this.#columns.set(table, columns)
    const id = `${part ?? ''} ${column}`
    const array = columns.get(id) ?? columnOf(table as DistArray<Record<string, never>>, column, part) // as it was classified
    columns.set(id, array)
    return array
  }

  /** Replaces the body's questions about texts, dates and nulls of its rows by reads of arrays, where it uses the rows for nothing else. */
  #withAnswers(lowered: LoweredFunction): LoweredFunction {
    const { over, env } = this.#request
    const { ir } = lowered.fn
    const { element } = this.over
    if (ir === undefined || element === undefined || this.overPlan?.keys.kind !== 'rowNumber' || !isRepeatable(this.overPlan))
      return lowered
    if (
      [...Object.values(env), ...lowered.captured.values()].some((value) => value instanceof DistArray && planOf(value) === this.overPlan)
    )
      return lowered
    const taken = new Set([...Object.keys(env), ...lowered.captured.keys(), ...ir.parameters.map(({ name }) => name)])
    const newName = (question: RowQuestion): string => {
      const wanted = answerName(question)
      let name = wanted
      for (let n = 1; taken.has(name); n++) name = `${wanted}$${n}`
      taken.add(name)
      return name
    }
    const found = withAnswers(ir, element, newName)
    if (found === undefined) return lowered
    const captured = new Map(lowered.captured)
    const answers = new Map<string, object>() // answers for captured values of earlier analyses are dropped
    for (const [name, question] of found.questions) {
      const id = questionId(question)
      const array = this.#answers.get(id) ?? answersOf(over as DistArray<Record<string, never>>, question) // rows, as their plan says
      answers.set(id, array)
      captured.set(name, array)
    }
    this.#answers = answers
    return { ...lowered, fn: { ...lowered.fn, ir: found.ir }, captured }
  }

  #withLocals(bindings: Bindings): Bindings {
    const own = new Set<LogicalPlan>([...this.#locals.values()].map(planOf))
    const isLocal = (name: string): boolean => own.has(bindings.arrays.get(name) as LogicalPlan) // undefined is none of them
    const env = Object.entries(bindings.env).map(([name, binding]) =>
      isLocal(name) ? ([name, { ...binding, isLocal: true }] as const) : ([name, binding] as const),
    )
    return { ...bindings, env: Object.fromEntries(env) }
  }

  #analyze(captured: CapturedState | undefined): Analysis {
    const { env, body, options } = this.#request
    const { engine } = this.#context
    const element = this.over.element
    const context: BodyContext = {
      kind: 'loop',
      ...(element === undefined ? {} : { overElement: element }),
      isRange: this.overPlan === undefined,
      rank: this.over.rank,
      extents: this.over.extents,
      env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, envValueOf(value, engine) ?? { kind: 'constant', value }])),
      classify: (value) => envValueOf(value, engine),
      localArray: (local) => this.#localArray(local),
    }
    const columns = {
      ...context,
      columnArray: (table: object, column: string, part?: ColumnPart) => this.#columnArray(table, column, part),
    }
    const searching = lowerFunction(body, { ...columns, findsTexts: true })
    // a body that looks up texts of its rows in collections needs answers, or the rows
    const searches = ({ fn }: LoweredFunction): boolean => fn.ir !== undefined && searchesTexts(fn.ir)
    const answered = searches(searching) ? this.#withAnswers(searching) : searching
    const byColumns = searches(answered) ? lowerFunction(body, columns) : answered
    // a body that needs more of a table than columns of numbers is lowered over its rows
    const needsRows = byColumns.fn.ir === undefined && this.#columns.size > 0
    const rows = needsRows ? lowerFunction(body, context) : byColumns
    // the refusals still say why it does
    const whole = needsRows && rows.fn.ir !== undefined ? { ...rows, fn: { ...rows.fn, refusals: byColumns.fn.refusals } } : rows
    const lowered = this.#withAnswers(whole)
    if (lowered.isAsync) {
      throw new LoopError(
        'The body of a loop is async. Iterations run synchronously: load what it awaits into arrays before the loop, or use forEach or collect.',
        lowered.fn.refusals,
      )
    }
    const known = lowered.fn.ir === undefined ? this.#withAllHandles(lowered.captured) : lowered.captured
    const bindings = this.#withLocals(bindNames(env, known, this.#context))
    const tables = lowered.fn.ir?.tables ?? []
    const study = studyLoop({ body: lowered.fn, over: this.over, env: bindings.env, options, ...defined({ site: this.#site }) })
    return {
      study,
      analyzed: study.loop,
      bindings,
      lengths: tables.map(({ value }) => value.length),
      captured,
    }
  }
}

function columnOf(table: DistArray<Record<string, never>>, column: string, part: ColumnPart | undefined): object {
  if (part === 'isNull') return answersOf(table, { kind: 'equals', column, value: null })
  if (part === 'orZero') return answersOf(table, { kind: 'or', column, value: 0 })
  return table.map((row, _, env) => row[env.column], { env: { column } })
}

/** Whether two analyses of one body saw the same captured values. */
function sameInputs(a: Analysis, b: Analysis): boolean {
  const [left, right] = [a.analyzed.spec.body.ir, b.analyzed.spec.body.ir]
  if (left === undefined || right === undefined) return left === right
  return (
    irText(left) === irText(right) &&
    left.parameters.length === right.parameters.length &&
    left.parameters.every(
      (parameter, i) => parameter.name === right.parameters[i]?.name && Object.is(parameter.value, right.parameters[i]?.value),
    ) &&
    sameItems(a.lengths, b.lengths) &&
    left.tables.every(({ value }, i) => value === right.tables[i]?.value && ArrayBuffer.isView(value)) // others may hold another kind of values
  )
}
