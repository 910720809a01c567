/** The state of a lowering, which its verbs and the passes after it read and write. */
import type { AnyNode } from 'acorn'
import type { Field } from '../../../core/data/schema.ts'
import type { Expr, Primitive, Stmt } from '../../../core/ir/functionIr.ts'
import type { Refusal, Span } from '../../../core/span.ts'
import type { HeldKinds, Maker } from '../lists/held/kinds.ts'
import type { TextShape } from '../lists/keyed/textShapes.ts'
import { Activation } from '../source/activation.ts'
import type { FunctionNode } from '../source/ast.ts'
import type { AnyFunction, Unit } from '../unit.ts'
import type { LowerContext } from './context.ts'
import type { IndexRange } from './indexRanges.ts'
import type {
  Bank,
  Capacities,
  Check,
  FoundOptional,
  Frame,
  GoingThrough,
  Heap,
  KeyedAs,
  KeyedSites,
  ListSize,
  Missing,
  Optionals,
  Pool,
  RecordShapes,
  Recursion,
  Recursive,
  Rows,
  Shape,
  Sites,
  Verbs,
} from './loweringParts.ts'
import type { Bound, HandleKind, Origin, Owner, Site, Stored, Value } from './value.ts'

/** The inputs of a lowering: its verbs, and what earlier tries have found. */
export interface Given<L> {
  readonly verbs: Verbs<L>
  readonly bigints: ReadonlySet<string>
  readonly changing: Sites
  readonly indexed: Sites
  readonly growing: Capacities
  readonly shifted: Sites
  readonly truths: Sites
  readonly guarded: Sites
  readonly recursive: Recursive
  readonly moved: Sites
  readonly placed: Sites
  readonly rowsNeeded: Rows
  readonly optionals: Optionals
  readonly records: RecordShapes
  readonly itemsMoved: Sites
  readonly held: HeldKinds
  readonly checkedColumns: ReadonlyMap<string, string>
  readonly keyed: KeyedSites
  readonly texts: readonly string[]
  readonly textShapes: readonly TextShape[]
}

/** The state while a function is lowered. `L` is the lowering itself. */
export abstract class LoweringState<L> {
  readonly context: LowerContext
  out: Stmt[] = []
  unit: Unit
  readonly frames: Frame[] = []
  /** The meaning of names at the present place. */
  bound: Activation<Bound> = new Activation()
  /** Locals in scope that are never assigned after their declaration. */
  readonly stableLocals: Set<string> = new Set()
  readonly refusals: Refusal[] = []
  readonly missing: Missing[] = []
  readonly checks: Check[] = []
  readonly parameters: { name: string; value: Primitive; origin: Origin }[] = []
  readonly tables: { name: string; value: ArrayLike<Primitive>; origin: Origin; of: unknown; made?: true }[] = []
  readonly uses: { name: string; kind: HandleKind; origin: Origin }[] = []
  /** Element types of arrays in use, where they are known. */
  readonly dtypes: Map<string, string> = new Map()
  /** Numbers of axes of arrays in use. */
  readonly ranks: Map<string, number> = new Map()
  /** Extents of arrays in use, where they are known. */
  readonly shapes: Map<string, readonly number[]> = new Map()
  /** Arrays in use that are columns of tables, whose rows are numbered. */
  readonly tableColumns: Set<string> = new Set()
  /** Tables in use whose columns are arrays of their own. */
  readonly tablesOfRows: Map<string, { readonly fields: readonly Field[]; readonly handle: object }> = new Map()
  /** The first column read of each table. */
  readonly columnsRead: Map<string, string> = new Map()
  /** The first columns read in an earlier try: taking a row of a table reads this column, so that a missing row fails. */
  readonly checkedColumns: ReadonlyMap<string, string>
  /** Arrays whose elements are true and false. */
  readonly booleans: Set<string> = new Set()
  /** The arrays that the body makes as Uint8ClampedArrays. */
  readonly clamped: Set<string> = new Set()
  readonly captured: Map<string, unknown> = new Map()
  readonly units: Map<unknown, Unit> = new Map()
  /** The classes of methods, by the method's unit. */
  readonly classOfMethod: Map<Unit, AnyFunction> = new Map()
  keyRank = 0
  /** The verbs, set by `lower.ts`: they call one another, and through this object they need no import of one another. */
  readonly verbs: Verbs<L>
  /** Locals that `++` and `--` change by 1n. */
  readonly bigints: ReadonlySet<string>
  /** Literals whose parts are assigned after they are made. */
  readonly changing: Sites
  /** Literals of this kind that were found in this try. */
  readonly foundChanging: Site[] = []
  /** Array literals whose elements are chosen by a computed index. */
  readonly indexed: Sites
  readonly foundIndexed: Site[] = []
  /** The shapes of arrays that a loop's body makes for itself, by name. */
  readonly locals: Map<string, readonly number[]> = new Map()
  /** The places where the body's arrays are made, except for lists that grow and moved arrays. */
  readonly madeAt: Map<string, Site> = new Map()
  /** Arrays that variables or lists hold one after another; then those found in this try, the rows needed, and their banks. */
  readonly moved: Sites
  readonly foundMoved: Site[] = []
  readonly rowsNeeded: Rows
  readonly banks: Map<string, Bank> = new Map()
  /** Lists of arrays whose places are given others; then those found in this try, and the bank of each list of rows. */
  readonly placed: Sites
  readonly foundPlaced: Site[] = []
  readonly rowsOf: Map<string, string> = new Map()
  /** Objects that may be absent; then those found in this try, and the locals that are known to say that theirs is there, by the loop in which that is known. */
  readonly optionals: Optionals
  readonly foundOptionals: FoundOptional[] = []
  readonly knownThere: Map<string, number | 'no loop'> = new Map()
  /** Locals that hold null or undefined at first, and, as far as is known, never an object. */
  readonly absentAtFirst: Set<string> = new Set()
  /** Number of names of the body's arrays, the loops in which they are made, and what is refused where one has more names. */
  readonly listNames: Map<string, number> = new Map()
  readonly madeInLoops: Map<string, readonly number[]> = new Map()
  readonly listsGiven: { readonly array: string; readonly names: number; readonly refusal: Refusal }[] = []
  /** The literals that make rows of banks; one that is given a list that grows becomes such a list. */
  readonly literalOfRow: WeakMap<Value, Site> = new WeakMap()
  /** What makes the lists that are rows of banks. */
  readonly makerOfRow: WeakMap<Value, Maker> = new WeakMap()
  /** Arrays that the loops around are going through. */
  readonly iterated: string[] = []
  /** Lists of objects, and those of them whose places are given other elements; then those found in this try. */
  readonly records: RecordShapes
  readonly foundRecords: { readonly site: Site; readonly shape: Shape }[] = []
  readonly itemsMoved: Sites
  readonly foundItemsMoved: Site[] = []
  /** Lists and objects that places hold: their kinds, the memory of each kind, what made each array, and the arrays that have had a name. */
  readonly held: HeldKinds
  readonly heaps: Map<number, Heap> = new Map()
  readonly pools: Map<number, Pool> = new Map()
  /** The places of literals that are objects, not arrays. */
  readonly objectSites: WeakSet<Site> = new WeakSet()
  readonly makers: Map<string, Maker> = new Map()
  readonly named: Set<string> = new Set()
  /** Places of elements of such lists, which are computed where they are used; lengths of such lists, by what they read. */
  readonly heldPlaces: WeakSet<Expr> = new WeakSet()
  /** Texts that tell the kind of a chosen object: which it is under which test. */
  readonly kindTexts: WeakMap<Expr, readonly { readonly test: Expr; readonly text: string }[]> = new WeakMap()
  readonly heldLengths: Map<string, Expr> = new Map()
  /** What Maps that seemed to hold scalars gave, and the locals that have it: one that is given a list there holds lists. */
  readonly gotten: WeakMap<Expr, Stored> = new WeakMap()
  readonly gottenLocals: Map<string, Stored> = new Map()
  /** Declarations of locals at the start of the function. */
  readonly atStart: Stmt[] = []
  /** Locals that hold the number of elements, by arrays that grow. */
  readonly sizes: Map<string, ListSize> = new Map()
  /** The literals that arrays were made of, for those that are pushed onto. */
  readonly madeIn: Map<string, Site> = new Map()
  /** The number of places of lists that `new Array(n)` makes, whose elements are assigned from the first on. */
  readonly places: Map<string, Expr> = new Map()
  /** Trip counts of the enclosing loops, where they are known. */
  readonly trips: Map<number, number> = new Map()
  /** Array literals that elements are pushed onto, and the most elements of each. */
  readonly growing: Capacities
  /** Functions that call themselves; true where a call is not their last action. */
  readonly recursive: Recursive
  readonly foundRecursive: { readonly site: Site; readonly isDeep: boolean }[] = []
  /** Lists that surely have an element, until one is taken, by the loop in which that is known. */
  readonly holdingSome: Map<string, number | 'no loop'> = new Map()
  /** Comparisons that hold at the present place, by what they compare, of values that do not change any more. */
  readonly holding: string[] = []
  /** Places where a list is given what may be undefined or null, which is checked there. */
  readonly guarded: Sites
  /** Literals from whose start elements are taken. */
  readonly shifted: Sites
  readonly foundShifted: Site[] = []
  /** Literals without elements that true and false are pushed onto; then those found in this try. */
  readonly truths: Sites
  readonly foundTruths: Site[] = []
  readonly foundGrowing: { readonly site: Site; readonly count: number }[] = []
  /** The arrays made by the body that are plain arrays, not typed ones. */
  readonly lists: Set<string> = new Set()
  /** Functions that call themselves, by the label of the loop that took their place. */
  readonly recursions: Map<string, Recursion> = new Map()
  /** The arrays of the stacks of such functions, by function, and the locals that each keeps. */
  readonly stacks: Map<FunctionNode, readonly { readonly array: string; readonly most: number }[]> = new Map()
  readonly keeps: Map<string, readonly string[]> = new Map()
  /** Locals that are a text of the iterated row. */
  readonly rowTexts: Set<string> = new Set()
  /** Locals that are surely numbers, and never anything else. */
  readonly numbers: Set<string> = new Set()
  /** Elements of captured lists, undefined outside of these, and the constant locals that hold one. */
  readonly lookups: WeakSet<Expr> = new WeakSet()
  readonly lookedUp: Set<string> = new Set()
  /** Constant locals that are a list made of a text, or of another list. */
  readonly madeLists: Set<string> = new Set()
  /** Ranges of the counters of enclosing loops whose bounds are written out. */
  readonly counters: Map<string, IndexRange> = new Map()
  /** Tables made of captured constants of several parts, by the constant. */
  readonly partsOfConstants: Map<object, Record<string, string>> = new Map()
  /** The lists of lists and objects that were made of captured constants, by what they are made of and by part. */
  readonly listsOfConstants: Map<object, Record<string, readonly unknown[]>> = new Map()
  /** Tables of characters, or of texts that a captured object has for others. */
  readonly textTables: Set<string> = new Set()
  /** The characters of captured lists of texts. */
  readonly characters: Map<readonly string[], readonly (readonly string[])[]> = new Map()
  /** Codes of the texts of captured lists, which are compared as numbers (dictionary encoding); then the texts by code, and their table. */
  readonly textCodes: Map<string, number> = new Map()
  readonly textsByCode: string[] = []
  textTable: string | undefined
  /** Shapes of texts that the body makes of numbers, which have codes too; then those found in this try. */
  readonly textShapes: readonly TextShape[]
  readonly foundShapes: TextShape[] = []
  /** Number of texts that earlier tries have found: if this one finds no more, these are all. */
  readonly textCount: number
  /** What earlier tries have found of collections and of objects with computed names; then what this one finds. */
  readonly keyed: KeyedSites
  readonly foundKeyed: { readonly site: Site; readonly as: KeyedAs }[] = []
  /** Objects with computed names, of which no text may be a name that all objects have, or a number where its names are gone through. */
  readonly dictionaries: { readonly name: string; readonly span: Span; readonly isGoneThrough: boolean }[] = []
  /** Objects with computed names that the loops around are going through, and what may not happen to them meanwhile. */
  readonly goneThrough: { readonly owner: Owner; readonly keeps: 'names' | 'values' }[] = []
  /** Number of arrays that the body makes, and their bytes. */
  localArrays = 0
  /** Those among them that are memories of lists and objects which places hold. */
  heldArrays = 0
  localBytes = 0
  /** The loops around what is being lowered, each by a number of its own. */
  readonly loops: number[] = []
  /** Owners of the objects that were given to the functions being written out. */
  readonly lent: Owner[] = []
  /** Owners of objects that were given to functions which made functions: these may keep them. */
  readonly keptByFunctions: Set<Owner> = new Set()
  /** Whether a Date from outside became a value, which is a copy of it. */
  copiesDates = false
  /** Whether some condition chooses an object that has a name. */
  choosesNamed = false
  /** The two objects or arrays between which a conditional expression chooses. */
  readonly chosenFrom: WeakMap<Expr, readonly Value[]> = new WeakMap()
  /** The name of the literal being lowered. */
  nameHint: string | undefined
  /** The call whose value nobody uses. */
  unusedCall: AnyNode | undefined
  /** The call that a loop goes through. */
  goingThrough: GoingThrough | undefined

  constructor(context: LowerContext, unit: Unit, given: Given<L>) {
    const {
      verbs,
      bigints,
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
      held,
      checkedColumns,
      keyed,
      texts,
      textShapes,
    } = given
    this.context = context
    this.unit = unit
    this.verbs = verbs
    this.bigints = bigints
    this.changing = changing
    this.indexed = indexed
    this.growing = growing
    this.shifted = shifted
    this.truths = truths
    this.guarded = guarded
    this.recursive = recursive
    this.moved = moved
    this.placed = placed
    this.rowsNeeded = rowsNeeded
    this.optionals = optionals
    this.records = records
    this.itemsMoved = itemsMoved
    this.held = held
    this.checkedColumns = checkedColumns
    this.keyed = keyed
    this.textShapes = textShapes
    this.textCount = texts.length
    for (const text of texts) this.textCodes.set(text, this.textsByCode.push(text) - 1)
  }

  /** Whether a collection, or an object with computed names, is known to hold such keys or values. */
  isKeyed({ unit, start }: Site, as: KeyedAs): boolean {
    return this.keyed.get(as)?.get(unit.f)?.has(start) === true
  }

  /** Returns the texts of a lookup's table; undefined for tables of anything else. */
  textsOf({ table }: { readonly table: string }): readonly string[] | undefined {
    if (table === this.textTable && this.textShapes.length > 0) return undefined // the body makes others of numbers
    const held = this.tables.find(({ name }) => name === table)?.value
    return Array.isArray(held) && held.length > 0 && held.every((one) => typeof one === 'string') ? held : undefined
  }
}
