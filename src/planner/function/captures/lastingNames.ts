/**
 * Finds the captured variables of a function that keep the value they have.
 *
 * Statement: let `f` be a function of a module, and `x` a name that is free in it. The scopes of `f` are those that its
 * place in the module's text says, for as long as `f` lives, so `x` is one variable. If the declaration of that variable is
 * a `const`, or a `let` or parameter whose name nothing in the text assigns, it is written once: when it is declared.
 * Whatever it was found to hold, but undefined, it holds from then on.
 *
 * The text is the one that the engine runs. A module is strict code: there is no `with`, a direct `eval` declares nothing
 * outside itself, `arguments` are not the parameters, and functions are declared in their blocks alone. An `eval` could
 * assign, so that a text that names it has only its constants. Variables of an import, a `var`, and whatever a class or a
 * function declares are not looked into.
 */
import { type AnyNode, type BlockStatement, type Expression, type Identifier, type Program, parse, type Statement } from 'acorn'
import { childNodes, type FunctionNode, isFunctionNode } from '../source/ast.ts'
import { type Binding, boundNames, type Names, resolveNames } from '../source/scope.ts'
import { type ScriptText, scriptTextOf } from '../source/scriptText.ts'

type AnyFunction = (...args: never[]) => unknown

/** Longest text that is read; reading a longer one takes as long as hundreds of questions to the inspector. */
const LONGEST_TEXT = 300_000

/** Returns those of the names that, in a function of a module, mean variables which keep their value once they have one. */
export function lastingNames(f: AnyFunction, names: ReadonlySet<string>): ReadonlySet<string> {
  const script = scriptTextOf(f)
  const module = script === undefined || script.text.length > LONGEST_TEXT ? undefined : readModule(script.text)
  const node = script === undefined || module === undefined ? undefined : functionAt(module.root, script, textOf(f))
  if (module === undefined || node === undefined) return new Set()
  const captured = capturedBindings(node, module.names)
  return new Set([...names].filter((name) => isLasting(captured.get(name), module)))
}

function textOf(f: AnyFunction): string {
  return Function.prototype.toString.call(f)
}

interface ModuleText {
  readonly text: string
  /** A function node around the module's statements. */
  readonly root: FunctionNode
  readonly names: Names
  readonly assigned: ReadonlySet<string>
}

/** The module read last, kept until memory is asked for, since the loops of one module mostly follow each other. */
let last: WeakRef<ModuleText> | undefined

function readModule(text: string): ModuleText | undefined {
  const known = last?.deref()
  if (known?.text === text) return known
  const program = parsed(text)
  if (program === undefined) return undefined
  const root = asFunction(program)
  const module = { text, root, names: resolveNames(root), assigned: assignedNames(root) }
  last = new WeakRef(module)
  return module
}

function parsed(text: string): Program | undefined {
  try {
    return parse(text, { ecmaVersion: 'latest', sourceType: 'module', allowAwaitOutsideFunction: true, allowHashBang: true })
  } catch {
    return undefined // a newer language than the parser's
  }
}

function asFunction({ body, start, end }: Program): FunctionNode {
  const block: BlockStatement = { type: 'BlockStatement', body: body.flatMap(statementsOf), start, end }
  const kind = { generator: false, async: true, expression: false }
  return { type: 'FunctionExpression', id: null, params: [], body: block, ...kind, start: start - 1, end: end + 1 } // around all functions
}

/** Returns what a statement of a module declares or does, without its exports; nothing for imports. */
function statementsOf(node: Program['body'][number]): Statement[] {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
      return []
    case 'ExportNamedDeclaration':
      return node.declaration ? [node.declaration] : []
    case 'ExportDefaultDeclaration': {
      const { declaration, start, end } = node
      const isDeclared = declaration.type === 'FunctionDeclaration' || declaration.type === 'ClassDeclaration'
      if (isDeclared && declaration.id !== null) return [declaration]
      return [{ type: 'ExpressionStatement', expression: declaration as Expression, start, end }] // a declaration without a name is an expression
    }
    default:
      return [node]
  }
}

/** Returns the function with this text at a place in the module; undefined where there is none. Parameters have scopes of their own. */
function functionAt(root: FunctionNode, { text, at }: ScriptText, own: string): FunctionNode | undefined {
  let node: AnyNode | undefined = root
  while (node !== undefined) {
    const inside: readonly AnyNode[] = isFunctionNode(node) ? [node.body] : childNodes(node)
    node = inside.find(({ start, end }) => start <= at && at < end)
    if (node !== undefined && isFunctionNode(node) && at <= node.body.start && text.slice(node.start, node.end) === own) return node
  }
  return undefined
}

/** Returns the bindings of names that are not the function's own; names that the module does not declare are not among them. */
function capturedBindings(node: FunctionNode, { bindingOf }: Names): ReadonlyMap<string, Binding> {
  const captured = new Map<string, Binding>()
  visit(node, (one) => {
    const binding = one.type === 'Identifier' ? bindingOf.get(one as Identifier) : undefined
    if (binding === undefined || (binding.owner.start >= node.start && binding.owner.end <= node.end)) return
    captured.set(binding.name, binding)
  })
  return captured
}

function isLasting(binding: Binding | undefined, { assigned }: ModuleText): boolean {
  if (binding === undefined || binding.declarators !== 1) return false
  if (binding.kind === 'const') return true
  return (binding.kind === 'let' || binding.kind === 'param') && !assigned.has(binding.name) && !assigned.has('eval')
}

/** Returns every name that is assigned somewhere, whichever variable it means there; and `eval`, where that is named at all. */
function assignedNames(root: FunctionNode): ReadonlySet<string> {
  const names = new Set<string>()
  visit(root, (node) => {
    if (node.type === 'AssignmentExpression') for (const name of boundNames(node.left)) names.add(name)
    else if (node.type === 'UpdateExpression' && node.argument.type === 'Identifier') names.add(node.argument.name)
    else if ((node.type === 'ForInStatement' || node.type === 'ForOfStatement') && node.left.type !== 'VariableDeclaration') {
      for (const name of boundNames(node.left)) names.add(name)
    } else if (node.type === 'Identifier' && node.name === 'eval') names.add('eval')
  })
  return names
}

function visit(node: AnyNode, see: (node: AnyNode) => void): void {
  see(node)
  for (const child of childNodes(node)) visit(child, see)
}
