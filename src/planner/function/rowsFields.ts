/**
 * The fields of its rows that a function of a group names, where it names all that it sees of them: `groupBy(…).map` needs no
 * other columns.
 *
 *     (key, rows) => rows.map((r) => r.price).sort()                          price
 *     (key, rows) => { for (const r of rows) sum += r.n; return sum }         n
 *     (key, rows) => rows[0]                                                  any
 *
 * Lists of rows and rows are followed through constants, loops, and the functions that methods of lists are given where they stand.
 * Wherever such a variable stands otherwise, it may be seen whole.
 */
import type { AnyNode, CallExpression, MemberExpression, Pattern } from 'acorn'
import { fieldName, namesTaken, withoutChain } from './rowFields.ts'
import { childNodes } from './source/ast.ts'
import type { Binding } from './source/scope.ts'
import type { Unit } from './unit.ts'

type Kind = 'rows' | 'row'

/** A method of lists: which parameters of the function that it is given are rows, how many that may have, and what comes back. */
interface ListMethod {
  readonly rows: readonly number[]
  readonly most: number
  readonly gives?: Kind
}
const OF_EACH: ListMethod = { rows: [0], most: 2 }
const METHODS: Readonly<Record<string, ListMethod>> = {
  map: OF_EACH,
  flatMap: OF_EACH,
  forEach: OF_EACH,
  some: OF_EACH,
  every: OF_EACH,
  findIndex: OF_EACH,
  findLastIndex: OF_EACH,
  find: { ...OF_EACH, gives: 'row' },
  findLast: { ...OF_EACH, gives: 'row' },
  filter: { ...OF_EACH, gives: 'rows' },
  reduce: { rows: [1], most: 3 },
  sort: { rows: [0, 1], most: 2, gives: 'rows' },
  toSorted: { rows: [0, 1], most: 2, gives: 'rows' },
}
/** Methods that are given no function. */
const PLAIN: Readonly<Record<string, Kind>> = { slice: 'rows', reverse: 'rows', toReversed: 'rows', at: 'row' }

function own<T>(of: Readonly<Record<string, T>>, name: string | undefined): T | undefined {
  return name !== undefined && Object.hasOwn(of, name) ? of[name] : undefined
}

/** Undefined where it may see more of the rows than what it names. */
export function fieldsOfRowsNamed({ source: { node }, names }: Unit): readonly string[] | undefined {
  for (const { name } of names.free) if (name === 'arguments' || name === 'eval') return undefined
  const [key, rows] = node.params
  if (node.params.length > 2 || key?.type === 'RestElement') return undefined
  if (rows === undefined) return []
  const binding = rows.type === 'Identifier' ? names.bindingOf.get(rows) : undefined
  if (binding === undefined) return undefined
  const walk = new Walk(names, binding)
  while (walk.finds(node.body)); // a name may stand before the constant that gives it its meaning
  return [...(key === undefined ? [] : [key]), node.body].some((one) => walk.seesWhole(one)) ? undefined : [...walk.found]
}

class Walk {
  readonly found: Set<string> = new Set()
  private readonly names: Unit['names']
  private readonly kinds = new Map<Binding, Kind>()

  constructor(names: Unit['names'], rows: Binding) {
    this.names = names
    this.kinds.set(rows, 'rows')
  }

  /** Notes variables that hold rows; whether one was new. */
  finds(node: AnyNode): boolean {
    let isNew = this.findsAt(node)
    for (const child of childNodes(node)) if (this.finds(child)) isNew = true
    return isNew
  }

  private findsAt(node: AnyNode): boolean {
    switch (node.type) {
      case 'VariableDeclaration': {
        if (node.kind !== 'const') return false
        return node.declarations.filter(({ id, init }) => init && this.note(id, this.kindOf(init))).length > 0
      }
      case 'ForOfStatement': {
        if (node.left.type !== 'VariableDeclaration' || this.kindOf(node.right) !== 'rows') return false
        return node.left.declarations.filter(({ id }) => this.note(id, 'row')).length > 0
      }
      case 'CallExpression': {
        const [f] = node.arguments
        const method = this.methodOf(node)
        if (method === undefined || (f?.type !== 'ArrowFunctionExpression' && f?.type !== 'FunctionExpression')) return false
        return (own(METHODS, method)?.rows ?? []).filter((at) => this.note(f.params[at], 'row')).length > 0
      }
      default:
        return false
    }
  }

  private note(pattern: Pattern | undefined, kind: Kind | undefined): boolean {
    const binding = pattern?.type === 'Identifier' ? this.names.bindingOf.get(pattern) : undefined
    if (binding === undefined || kind === undefined || this.kinds.has(binding)) return false
    this.kinds.set(binding, kind)
    return true
  }

  /** What an expression is: a list of rows, a row, or undefined for anything else. */
  private kindOf(given: AnyNode): Kind | undefined {
    const node = withoutChain(given)
    switch (node.type) {
      case 'Identifier': {
        const binding = this.names.bindingOf.get(node)
        return binding && this.kinds.get(binding)
      }
      case 'MemberExpression':
        return node.computed && this.kindOf(node.object) === 'rows' ? 'row' : undefined
      case 'CallExpression': {
        const method = this.methodOf(node)
        return own(METHODS, method)?.gives ?? own(PLAIN, method)
      }
      case 'ArrayExpression': {
        const [only] = node.elements
        return node.elements.length === 1 && only?.type === 'SpreadElement' && this.kindOf(only.argument) === 'rows' ? 'rows' : undefined
      }
      default:
        return undefined
    }
  }

  /** The method of a list of rows that is called. */
  private methodOf({ callee }: CallExpression): string | undefined {
    const of = withoutChain(callee)
    if (of.type !== 'MemberExpression' || of.computed || of.property.type !== 'Identifier') return undefined
    return this.kindOf(of.object) === 'rows' ? of.property.name : undefined
  }

  /** Whether rows are seen whole in a node, which itself is used for anything. */
  seesWhole(node: AnyNode): boolean {
    if (this.kindOf(node) !== undefined) return true
    switch (node.type) {
      case 'MemberExpression':
        return this.memberSeesWhole(node)
      case 'CallExpression': {
        if (this.methodOf(node) !== undefined) return this.callSeesWhole(node)
        const callee = withoutChain(node.callee)
        // what is called by such a name is given the row as `this`
        return (callee.type === 'MemberExpression' && this.kindOf(callee.object) !== undefined) || this.childrenSeeWhole(node)
      }
      case 'TaggedTemplateExpression': {
        const tag = withoutChain(node.tag)
        return (tag.type === 'MemberExpression' && this.kindOf(tag.object) !== undefined) || this.childrenSeeWhole(node)
      }
      case 'VariableDeclaration':
        return node.declarations.some(({ id, init }) => {
          const kind = init ? this.kindOf(init) : undefined
          if (!init || kind === undefined)
            return this.childrenSeeWhole({ type: 'ArrayExpression', elements: [id, init ?? null] } as AnyNode)
          if (id.type === 'Identifier') return node.kind !== 'const' || this.partsSeeWhole(init)
          return kind !== 'row' || !this.takes(id) || this.partsSeeWhole(init)
        })
      case 'ForOfStatement': {
        if (this.kindOf(node.right) !== 'rows') return this.childrenSeeWhole(node)
        const { left, right, body } = node
        const declared = left.type === 'VariableDeclaration' ? left.declarations[0]?.id : undefined
        if (node.await || declared === undefined || (declared.type !== 'Identifier' && !this.takes(declared))) return true
        return this.partsSeeWhole(right) || this.seesWhole(body)
      }
      default:
        return this.childrenSeeWhole(node)
    }
  }

  private childrenSeeWhole(node: AnyNode): boolean {
    // the name of a variable where it is declared is no use of it
    return childNodes(node).some((child) => this.seesWhole(child))
  }

  private memberSeesWhole(node: MemberExpression): boolean {
    const kind = this.kindOf(node.object)
    if (kind === undefined) return this.childrenSeeWhole(node)
    if (kind === 'rows') return node.computed || fieldName(node) !== 'length' || this.partsSeeWhole(node.object)
    const name = fieldName(node)
    if (name !== undefined) this.found.add(name)
    return name === undefined || this.partsSeeWhole(node.object)
  }

  /** Whether rows are seen whole in what makes a row, or a list of rows, that itself is used as it should be. */
  private partsSeeWhole(given: AnyNode): boolean {
    const node = withoutChain(given)
    switch (node.type) {
      case 'Identifier':
        return false
      case 'MemberExpression':
        return this.partsSeeWhole(node.object) || this.seesWhole(node.property)
      case 'CallExpression':
        return this.callSeesWhole(node)
      case 'ArrayExpression': {
        const [only] = node.elements
        return only?.type !== 'SpreadElement' || this.partsSeeWhole(only.argument)
      }
      default:
        return true
    }
  }

  /** The same of the call of a method of a list of rows. */
  private callSeesWhole(node: CallExpression): boolean {
    const method = this.methodOf(node) ?? ''
    const list = (withoutChain(node.callee) as MemberExpression).object // it has a method
    if (this.partsSeeWhole(list)) return true
    if (own(PLAIN, method) !== undefined) return node.arguments.some((argument) => this.seesWhole(argument))
    const given = own(METHODS, method)
    const [f, ...rest] = node.arguments
    if (given === undefined || (f?.type !== 'ArrowFunctionExpression' && f?.type !== 'FunctionExpression')) return true
    if (rest.length !== (method === 'reduce' ? 1 : 0) || f.params.length > given.most) return true
    const isTaken = f.params.every((param, at) => {
      if (param.type === 'RestElement') return false
      if (!given.rows.includes(at)) return !this.seesWhole(param)
      return param.type === 'Identifier' || this.takes(param)
    })
    return !isTaken || this.seesWhole(f.body) || rest.some((argument) => this.seesWhole(argument))
  }

  /** Notes the fields that a pattern takes of a row; whether these are all that it takes. */
  private takes(pattern: Pattern): boolean {
    const taken = pattern.type === 'ObjectPattern' ? namesTaken(pattern) : undefined
    for (const name of taken ?? []) this.found.add(name)
    // defaults may use rows
    return taken !== undefined && !this.childrenSeeWhole(pattern)
  }
}
