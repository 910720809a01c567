/**
 * The reasons why the IR cannot say something, in one table: each entry is a message and its cure.
 *
 * `syntax` is keyed by acorn's node types, so that a construct is forbidden in exactly one place; the rest is keyed by
 * what was found. Messages are sentences about the user's code; `name` stands for the thing they are about.
 */
import type { AnyNode } from 'acorn'
import type { Refusal, Span } from '../../core/span.ts'
import { DATE_REASONS } from './lower/dates/reasons.ts'
import { GENERATOR_REASONS } from './lower/generators/reasons.ts'

interface Entry {
  readonly code: string
  readonly message: string
  readonly cure: string
}

/** Constructs that are refused wherever they stand, by node type. */
export const FORBIDDEN_SYNTAX: Readonly<Partial<Record<AnyNode['type'], Entry>>> = {
  AwaitExpression: { code: 'async', message: 'It awaits.', cure: 'Await before the call and capture the result.' },
  YieldExpression: { code: 'generator', message: 'It is a generator.', cure: 'Return a value instead of yielding.' },
  WithStatement: { code: 'with', message: 'It uses with.', cure: 'Name the object.' },
  ThisExpression: { code: 'this', message: 'It uses this.', cure: 'Capture what it needs in a variable.' },
  Super: { code: 'this', message: 'It uses super.', cure: 'Capture what it needs in a variable.' },
  MetaProperty: { code: 'this', message: 'It uses import.meta or new.target.', cure: 'Capture what it needs in a variable.' },
  ImportExpression: { code: 'import', message: 'It imports a module.', cure: 'Import at the top of the file.' },
  TaggedTemplateExpression: { code: 'template-tag', message: 'It calls a template tag.', cure: 'Use a plain template or a function call.' },
  ForInStatement: {
    code: 'for-in',
    message: 'It loops over the names of an object.',
    cure: 'Loop over numbers, as for (let i = 0; i < n; i++).',
  },
  NewExpression: {
    code: 'new',
    message: 'It makes an object with new.',
    cure: 'Use plain numbers, arrays of numbers as new Float64Array(n), or make the object outside and capture its numbers.',
  },
}

/** Platform functions that have an effect or answer differently each time. */
const FORBIDDEN_CALLS: Readonly<Record<string, Entry>> = {
  'Math.random': {
    code: 'random',
    message: 'It calls Math.random, which no run can repeat.',
    cure: 'Use a generator in env, as { rng: session.rng(1) }, and rng.uniform().',
  },
  'Date.now': { code: 'clock', message: 'It reads the clock.', cure: 'Read the clock once before the call and capture the number.' },
  'performance.now': { code: 'clock', message: 'It reads the clock.', cure: 'Read the clock once before the call and capture the number.' },
  Date: { code: 'clock', message: 'It reads the clock.', cure: 'Read the clock once before the call and capture the number.' },
  console: { code: 'console', message: 'It prints.', cure: 'Print what the run returns, or count with an accumulator.' },
}

export function forbiddenCall(name: string): Entry {
  const exact = FORBIDDEN_CALLS[name] ?? (name.startsWith('console.') ? FORBIDDEN_CALLS.console : undefined)
  return (
    exact ?? {
      code: 'unknown-call',
      message: `It calls ${name}, whose effects are not known.`,
      cure: 'Use Math, string methods and functions of your own, or compute it before the call and capture the result.',
    }
  )
}

/** Messages and cures of all other reasons, by code; `{name}` and `{what}` stand for what they are about. */
const REASONS = {
  native: {
    message: 'Its source is not available: it is native, bound, or a proxy.',
    cure: 'Wrap it in an arrow function, as (x) => f(x).',
  },
  'not-a-function': { message: 'It is a class.', cure: 'Pass an arrow function.' },
  unparsable: { message: 'Its source cannot be parsed.', cure: 'Write it as an arrow function in standard JavaScript.' },
  es5: { message: 'It was compiled to ES5 (it calls {name}).', cure: 'Compile with target ES2017 or later.' },
  async: { message: 'It is async.', cure: 'Await before the call and capture the result.' },
  generator: { message: 'It is a generator.', cure: 'Return a value instead of yielding.' },
  'unread-capture': {
    message: 'The captured variable {name} cannot be read: it is undefined, or not initialized yet.',
    cure: 'Pass it in env, as { {name} }.',
  },
  'captures-unreadable': {
    message: 'The captured variable {name} cannot be read, because the inspector is not available here.',
    cure: 'Pass it in env, as { {name} }.',
  },
  'captures-unreadable-in-rows': {
    message: 'The captured variable {name} cannot be read, because the inspector is not available here.',
    cure: 'Give it as {what}.',
  },
  'assigns-captured-variable': {
    message: 'It assigns the captured variable {name}.',
    cure: "Use an accumulator in env, as { total: session.accumulator('sum') }, and total.add(x).",
  },
  'mutates-captured-object': {
    message: 'It changes the captured object {name}.',
    cure: 'Put an array in env, as { total: session.zeros([1]) }, and write to it.',
  },
  'writes-static': {
    message: 'It changes the static field {name}, which all iterations share.',
    cure: 'Use an accumulator in env, or a variable of the body.',
  },
  'mutates-element': {
    message: 'It changes {name}.',
    cure: 'Return a new value, as ({ ...row, x: 1 }).',
  },
  'mutates-literal': {
    message: 'It changes an object or array that it made.',
    cure: 'Use one variable per number, or an array in env.',
  },
  'aliased-object': {
    message: 'It changes {name}, an object or array that another variable may hold as well.',
    cure: 'Change it before another variable is given it, or give that a copy, as { ...{name} }.',
  },
  'local-array-length': {
    message: 'How many elements {name} has is not known before the run.',
    cure: 'Give it a number, or a captured one, from 1 on: as many as there may be, and count those in use.',
  },
  'local-arrays-large': {
    message: 'The arrays that it makes take more than 1 MiB each or 4 MiB together, which each worker has, {name} among them.',
    cure: 'Put an array in env, and give each iteration a part of it.',
  },
  'local-array-value': {
    message: 'It puts something into {name} that may not be a number.',
    cure: 'Convert it first, as Number(x).',
  },
  'local-array-truth': {
    message: 'It puts something into {name}, a list of truth values, that may be none.',
    cure: 'Put true or false into it, as x !== 0, or fill it with numbers, as new Array(n).fill(0).',
  },
  'collection-key': {
    message: 'It asks {name} for a key that may not be a number.',
    cure: 'Number what the keys are, and use these numbers.',
  },
  class: { message: 'It declares a class.', cure: 'Use plain numbers and functions.' },
  'class-made': {
    message: 'It declares a class of which something runs when it is made, as a static block or a computed name.',
    cure: 'Declare the class outside of the function, or give its static fields numbers that are written out.',
  },
  'class-names': {
    message: 'It declares a class that names {name}, which is a variable of the function.',
    cure: 'Give it to the constructor or to the method that needs it.',
  },
  'text-key': {
    message: 'It uses {name} as a key or value of a collection of texts, and it may be none that is written out or captured.',
    cure: 'Take texts of captured lists, objects and texts, or number what they say, and use these numbers.',
  },
  'collection-texts': {
    message: 'It makes a list of what {name} holds, which are texts or truth values.',
    cure: 'Go through it, as for (const key of {name}), and push numbers onto a list.',
  },
  'dictionary-inherited': {
    message:
      'Among the texts that it uses are names that all objects have, as constructor, and {name} would have these before they are given.',
    cure: 'Use a Map, as counts.set(key, (counts.get(key) ?? 0) + 1).',
  },
  'dictionary-order': {
    message: 'It goes through {name}, whose names may be numbers, which objects put in order before others.',
    cure: 'Use a Map, which keeps the order in which keys were put in.',
  },
  'dictionary-changed': {
    message: 'It changes {name} while it goes through what that held before.',
    cure: 'Use a Map, whose loops see what changes meanwhile, or keep what is to change in another object.',
  },
  'collection-of': {
    message: 'It makes a Set or Map of what is not a list of numbers, or of pairs of numbers that are written out.',
    cure: 'Make it empty, and put what it holds into it in a loop.',
  },
  'collection-iterated': {
    message: 'It makes a list of {name}, from which it also removes keys.',
    cure: 'Go through it, as for (const key of {name}), and push onto a list.',
  },
  'local-array-grows': {
    message: 'It makes {name} longer, which is no literal.',
    cure: 'Begin with a literal, as [] or [first], and push onto that.',
  },
  'local-arrays-held': {
    message: 'It makes arrays like {name} again and again, and too many variables or places of lists may hold one of them.',
    cure: 'Make them before the loop, and give variables these in turn.',
  },
  'sorts-texts': {
    message: 'It sorts {name} without a function, which orders numbers as texts.',
    cure: 'Say by what, as {name}.sort((a, b) => a - b).',
  },
  'sorts-typed-array': {
    message: 'It sorts the typed array {name} by a function.',
    cure: 'Leave the function out where numbers ascend, or sort a list, as [...{name}].sort(…).',
  },
  'aliased-list': {
    message: 'It gives a variable another list, where {name} may have a second name.',
    cure: 'Give it a list that is made there and not used afterwards, or a copy, as [...{name}].',
  },
  'aliased-element': {
    message: 'It changes elements of {name}, of which others may have copies: elements are taken out, replaced, or had a name before.',
    cure: 'Put a new object in its place, as {name}[k] = { … }, or keep each part in a list of its own.',
  },
  'records-differ': {
    message: 'It gives {name} an object or array with other parts than its first has.',
    cure: 'Give all of them the same fields, in one order, each of them a number or truth value.',
  },
  'lists-of-lists': {
    message: 'It puts something into {name} that is no plain list which it makes, or an object without fields.',
    cure: 'Put a copy there, as [...list], or give the object all its fields where it is made.',
  },
  'adds-part': {
    message: 'It assigns {name}, which the object or array did not have when it was made.',
    cure: 'Give it a value where the object or array is made.',
  },
  try: {
    message: 'It catches what {name} may throw.',
    cure: 'Test for the failure with an if, or let the exception end the run.',
  },
  'try-error': {
    message: 'It uses the exception that it catches.',
    cure: 'Leave the exception out, as catch { … }, and set a variable before what may fail.',
  },
  'try-finally': {
    message: 'It has a finally behind what may throw an error that the try does not catch.',
    cure: 'Catch it, as catch { … }, or let the exception end the run.',
  },
  'finally-leaves': {
    message: 'It has a finally with a break or continue, behind a loop that the try leaves as well.',
    cure: 'Leave the loop behind the finally.',
  },
  'row-column': {
    message: 'The column {name} holds no plain numbers or truth values, or nulls among them.',
    cure: 'Give {what} a column of numbers for what the body asks of it, as {what}.withColumns((row) => ({ … })).',
  },
  'row-as-value': {
    message: 'A row of {name} is used as a whole.',
    cure: 'Read the columns that the body needs, as {name}.get(i).column.',
  },
  'captured-object': {
    message: 'The captured object {name} is not a constant that the plan can read.',
    cure: 'Capture its numbers, a typed array, or plain objects and lists of these, whose elements have the same fields.',
  },
  'typed-rows': { message: 'The captured list {name} has typed arrays in it.', cure: 'Capture lists, as {name}.map((row) => [...row]).' },
  'captured-part': {
    message: 'It uses an element of the captured {name} as a whole.',
    cure: 'Read its parts where they are, or keep its index, as k, and read {name}[k] there.',
  },
  'from-entries': {
    message: 'It makes an object of pairs whose names are not known before the run.',
    cure: "Write the pairs out, as [['a', 1], ['b', 2]], or keep them in a Map.",
  },
  'captured-proxy': {
    message: '{name} is a Proxy or inherits from one: what it holds is known only to its own code.',
    cure: 'Capture what it gives in a variable, or a copy of it, as { ...object }.',
  },
  'captured-function': {
    message: 'The function {name} cannot be looked into.',
    cure: 'Write it as a plain function in your own code.',
  },
  'unknown-env-name': { message: 'There is no {name} in env.', cure: 'Add it to env, as { {name} }.' },
  'env-as-value': { message: 'It uses env as a value.', cure: 'Name what it needs, as env.W or ({ W }).' },
  'handle-as-value': { message: 'It uses {name} as a value.', cure: 'Call its methods, as {name}.get(i).' },
  'view-as-value': { message: 'It uses a row view as a value.', cure: 'Read its elements, as w[k].' },
  'view-chosen': { message: 'It chooses between row views.', cure: 'Choose the row number instead, as W.row(c ? i : j).' },
  'key-as-value': { message: 'It uses the key as a value, and its rank is not known.', cure: 'Name its components, as ([i, j]).' },
  'object-as-value': {
    message: 'It keeps an object or array where only a number, string or boolean can be.',
    cure: 'Give it a variable of its own where it is made, and read its parts, or keep its index in a list.',
  },
  'absent-differs': {
    message: 'Where it has no object, {name} is null in one place, and undefined in another.',
    cure: 'Use null in all places, also as the initial value, as let {name} = null.',
  },
  'objects-differ': {
    message: 'It chooses between objects or arrays that differ in their fields, or in their classes.',
    cure: 'Give them the same fields, in one order, and one class.',
  },
  'function-as-value': { message: 'It uses a function as a value.', cure: 'Call it.' },
  'unknown-method': {
    message: 'It calls the method {name}.',
    cure: 'Compute it before the call and capture the result, or use index reads and writes, get, set, add, and methods of strings, numbers and dates.',
  },
  'splice-value': {
    message: 'It uses the elements that splice takes out.',
    cure: 'Read them before, as list[k] or list.slice(k, k + n), and call list.splice(k, n) as a statement.',
  },
  'list-method': {
    message: 'It calls {name}, a method that is not compiled for this list.',
    cure: 'Write it as a loop over the elements, as for (const v of list), or with a method that the docs name, in bodies.md under Lists.',
  },
  'method-arity': {
    message: 'It calls {name} with other arguments than it takes.',
    cure: 'See the table of views in the docs.',
  },
  'key-count': {
    message: 'It gives {name} other keys than one for each axis of the array.',
    cure: 'get and has take a key for each axis, set and add the value behind them, row all keys but the last.',
  },
  'ambiguous-method': {
    message: 'It uses {name} of a value that may not be a string.',
    cure: 'Make a text of it, as String(x), where it should be one; lists of columns that are asked for it run as JavaScript.',
  },
  'literal-accessor': {
    message: 'It makes an object with a getter or setter, {name}.',
    cure: 'Write a method, or a class, whose getters and setters are compiled.',
  },
  'computed-name': {
    message: 'It computes the name of a field.',
    cure: 'Write the name, as row.price; what is counted or kept by keys is a Map, as counts.set(key, (counts.get(key) ?? 0) + 1).',
  },
  'string-index': { message: 'It indexes a value that is not an array.', cure: 'Use charAt or charCodeAt for strings.' },
  'destructures-value': {
    message: 'It takes a value apart that is not a row, a key or a literal.',
    cure: 'Read its parts by name.',
  },
  'rest-parameter': { message: 'It takes its arguments as a list.', cure: 'Name each parameter.' },
  arguments: { message: 'It uses arguments.', cure: 'Name each parameter.' },
  spread: {
    message: 'It spreads a value whose parts are not known.',
    cure: 'Write the parts out, or push them one by one, as for (const v of values) list.push(v).',
  },
  recursive: {
    message: '{name} calls itself.',
    cure: 'Write it as a loop; where calls are still to be made, over a list of them, as while (stack.length > 0) { const v = stack.pop(); … }.',
  },
  'recursive-arrays': {
    message: '{name} calls itself, and makes arrays or lists.',
    cure: 'Make them before the first call, or write it as a loop.',
  },
  'recursive-locals': {
    message: '{name} calls itself while {what} may be something else than a number, true or false.',
    cure: 'Keep numbers or truth values for after the call, or write it as a loop.',
  },
  'default-of-undefined': {
    message: '{name} has a default, and may be given undefined by a function that calls itself.',
    cure: 'Give {name} a number wherever it is called.',
  },
  'too-large': {
    message: 'It is too large once the functions it calls are written out.',
    cure: 'Call fewer functions, or split the loop.',
  },
  'returns-function': { message: 'A function that it calls returns a function.', cure: 'Call the inner function directly.' },
  'use-before-declaration': { message: 'It may use {name} before its declaration.', cure: 'Declare it first.' },
  'reassigns-value': {
    message: 'It assigns {name}, which is a view, a function or an object.',
    cure: 'Use a const for each, or keep objects in a list, and the index of the present one in {name}.',
  },
  'increments-unknown': {
    message: 'It increments {name}, which may not be a number.',
    cure: 'Write {name} = Number({name}) + 1.',
  },
  switch: {
    message: 'Cases of its switch share names, or too many of them fall through.',
    cure: 'End each case with break or return, and declare names within braces.',
  },
  'for-of': {
    message: 'It loops over a value whose elements are not known.',
    cure: 'Loop over numbers, as for (let i = 0; i < n; i++), over a row, or over a captured array of numbers or strings.',
  },
  'throws-value': { message: 'It throws something other than a new Error.', cure: "Write throw new Error('…')." },
  regex: {
    message: 'It uses a regular expression.',
    cure: 'Use test and exec without the flags g and y; with g, write it out in replace, replaceAll, match or split of a text.',
  },
  operator: { message: 'It uses {name}.', cure: 'Use arithmetic, comparisons and logic on numbers and strings.' },
  'closure-in-loop-head': { message: 'It makes a function in the head of a loop.', cure: 'Make it before the loop.' },
  'sparse-literal': { message: 'It makes an array with holes.', cure: 'Write undefined for what is missing.' },
  'field-order': {
    message: 'The field name {name} has a meaning of its own in JavaScript.',
    cure: 'Use another name.',
  },
  'unknown-columns': { message: 'It spreads a row whose columns are not known before the run.', cure: 'Name the columns.' },
  'cannot-be-sent': {
    message: 'The captured value {name} cannot be sent to another thread.',
    cure: 'Capture numbers, strings, arrays and plain objects, or compute it inside.',
  },
  'copy-loses': {
    message: 'A copy of the captured {name} in another thread would not have {what}.',
    cure: 'Capture numbers, strings, arrays and plain objects, or compute it inside.',
  },
  'shares-state': {
    message: 'It reads {name}, which another function of the chain may change.',
    cure: 'Let one function do both, or materialize() what is before it.',
  },
  'tells-copy': {
    message: 'It asks for {name}, which a copy in another thread answers in its own way.',
    cure: 'Compute it before the call and capture the result.',
  },
  'changed-platform': {
    message: 'The program has changed {name}, which other threads and compiled functions do not share.',
    cure: 'Change it before distarray is imported, or pass a function of your own.',
  },
  'may-change-captured': { message: 'It may change the captured object {name}.', cure: 'Return a new value, or copy the object first.' },
  'changes-global': {
    message: 'It changes or needs the global {name}, which other threads do not share.',
    cure: 'Pass what it needs as a captured variable.',
  },
  this: { message: 'It uses this, super or import.', cure: 'Capture what it needs in a variable.' },
  'effect-in-expression': { message: 'It has an effect where its order cannot be kept.', cure: 'Make it a statement of its own.' },
} as const

export type Reason = keyof typeof REASONS | keyof typeof DATE_REASONS | keyof typeof GENERATOR_REASONS

const ALL: Readonly<Record<Reason, Omit<Entry, 'code'>>> = { ...REASONS, ...DATE_REASONS, ...GENERATOR_REASONS }

export function refusalOf(code: Reason, span: Span | undefined, name = '', what = ''): Refusal {
  const { message, cure } = ALL[code]
  const fill = (text: string): string => text.replaceAll('{name}', name).replaceAll('{what}', what)
  return { code, message: fill(message), cure: fill(cure), ...(span === undefined ? {} : { span }) }
}
