/** What is known while a function is lowered: what the verbs of lowering, and the passes behind it, read and note. */
import type { Field } from '../../../core/data/schema.ts'
import type { Primitive, Stmt } from '../../../core/ir/functionIr.ts'
import type { Refusal } from '../../../core/span.ts'
import { Activation } from '../source/activation.ts'
import type { FunctionNode } from '../source/ast.ts'
import type { AnyFunction, Unit } from '../unit.ts'
import type { LowerContext } from './context.ts'
import type { IndexRange } from './indexRanges.ts'
import type { Capacities, Check, Frame, Missing, Recursive, Sites, StackArrays, Verbs } from './loweringParts.ts'
import type { Bound, HandleKind, Origin, Owner, Site } from './value.ts'

/** What a lowering begins with: its verbs, and what earlier tries have found. */
export interface Given<L> {
  readonly verbs: Verbs<L>
  readonly bigints: ReadonlySet<string>
  readonly changing: Sites
  readonly indexed: Sites
  readonly growing: Capacities
  readonly recursive: Recursive
  readonly checkedColumns: ReadonlyMap<string, string>
}

/** What is known while a function is lowered. `L` is the lowering itself. */
export abstract class LoweringState<L> {
  readonly context: LowerContext
  out: Stmt[] = []
  unit: Unit
  readonly frames: Frame[] = []
  /** What names mean where it is at. */
  bound: Activation<Bound> = new Activation()
  /** Locals that are never assigned after their declaration, where they can be seen now. */
  readonly stableLocals: Set<string> = new Set()
  readonly refusals: Refusal[] = []
  readonly missing: Missing[] = []
  readonly checks: Check[] = []
  readonly parameters: { name: string; value: Primitive; origin: Origin }[] = []
  readonly tables: { name: string; value: ArrayLike<Primitive>; origin: Origin; of: unknown; made?: true }[] = []
  readonly uses: { name: string; kind: HandleKind; origin: Origin }[] = []
  /** Element types of arrays in use, where they are known. */
  readonly dtypes: Map<string, string> = new Map()
  /** Extents of arrays in use, where they are known. */
  readonly shapes: Map<string, readonly number[]> = new Map()
  /** Arrays in use that are columns of tables, whose rows are numbered. */
  readonly tableColumns: Set<string> = new Set()
  /** Tables in use whose columns are arrays of their own. */
  readonly tablesOfRows: Map<string, { readonly fields: readonly Field[]; readonly handle: object }> = new Map()
  /** The first column that is read of each. */
  readonly columnsRead: Map<string, string> = new Map()
  /** The same of an earlier try: where a row is taken, one of it is read. */
  readonly checkedColumns: ReadonlyMap<string, string>
  /** Arrays whose elements are true and false. */
  readonly booleans: Set<string> = new Set()
  readonly captured: Map<string, unknown> = new Map()
  readonly units: Map<unknown, Unit> = new Map()
  /** The classes that methods stand in. */
  readonly classOfMethod: Map<Unit, AnyFunction> = new Map()
  keyRank = 0
  /** The verbs, set by `lower.ts`: they need each other, so they meet here instead of importing one another. */
  readonly verbs: Verbs<L>
  /** Locals that `++` and `--` change by 1n. */
  readonly bigints: ReadonlySet<string>
  /** Literals whose parts are assigned after they are made. */
  readonly changing: Sites
  /** Those found to be in this try. */
  readonly foundChanging: Site[] = []
  /** Array literals of which elements are chosen by what the function computes. */
  readonly indexed: Sites
  readonly foundIndexed: Site[] = []
  /** The shapes of arrays that a loop's body makes for itself, by name. */
  readonly locals: Map<string, readonly number[]> = new Map()
  /** Locals that hold how many elements there are, of those that grow. */
  readonly sizes: Map<string, string> = new Map()
  /** The literals that they are, of those that are pushed onto. */
  readonly madeIn: Map<string, Site> = new Map()
  /** Turns of the loops around, where that is known. */
  readonly trips: Map<number, number> = new Map()
  /** Array literals that elements are pushed onto, and how many at most. */
  readonly growing: Capacities
  /** Functions that call themselves: whether not as the last thing that they do. */
  readonly recursive: Recursive
  readonly foundRecursive: { readonly site: Site; readonly isDeep: boolean }[] = []
  readonly foundGrowing: { readonly site: Site; readonly count: number }[] = []
  /** Those of them that are plain arrays. */
  readonly lists: Set<string> = new Set()
  /** Arrays of functions that call themselves, by function. */
  readonly stacks: Map<FunctionNode, StackArrays> = new Map()
  /** Locals that are a text of the row that is iterated over. */
  readonly rowTexts: Set<string> = new Set()
  /** Locals that are surely numbers, and never anything else. */
  readonly numbers: Set<string> = new Set()
  /** Counters of the loops around, whose bounds are written out. */
  readonly counters: Map<string, IndexRange> = new Map()
  /** Tables made of captured constants of several parts, by the constant. */
  readonly partsOfConstants: Map<object, Record<string, string>> = new Map()
  /** The numbers that texts of captured lists are compared by. */
  readonly textCodes: Map<string, number> = new Map()
  /** How many arrays it made, and their bytes. */
  localArrays = 0
  localBytes = 0
  /** The loops around what is being lowered, each with a number of its own. */
  readonly loops: number[] = []
  /** Whose objects the functions being written out were given. */
  readonly lent: Owner[] = []
  /** Whose objects were given to functions that made functions, which may see them as long as they like. */
  readonly keptByFunctions: Set<Owner> = new Set()
  /** Whether a Date from outside became a value, which is a copy of it. */
  copiesDates = false
  /** Whether a condition somewhere chooses an object that has a name. */
  choosesNamed = false
  /** What the literal being lowered is called. */
  nameHint: string | undefined

  constructor(context: LowerContext, unit: Unit, { verbs, bigints, changing, indexed, growing, recursive, checkedColumns }: Given<L>) {
    this.context = context
    this.unit = unit
    this.verbs = verbs
    this.bigints = bigints
    this.changing = changing
    this.indexed = indexed
    this.growing = growing
    this.recursive = recursive
    this.checkedColumns = checkedColumns
  }
}
