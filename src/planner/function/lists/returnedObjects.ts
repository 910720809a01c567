/** Objects and arrays that come of one of several places: what functions return, and what a condition chooses. */
import type { AnyNode } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { plainName } from '../captures/privateNames.ts'
import { literal, makeIf } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Result } from '../lower/loweringParts.ts'
import { REFUSED, type Site, type Storage, type Value } from '../lower/value.ts'
import { absentLiteral, emptyOptional, isOptional, noteOptional, optionalAt, presentOne } from './optionals.ts'
import { ofClass, ownerOf, partsOf, storeParts, takenApart } from './stored.ts'

/** Makes the place for a result, with what earlier tries have found there. */
export function newResult(l: Lowering, names: Pick<Result, 'local' | 'label' | 'breaks'>, site: Site): Result {
  const optional = optionalAt(l, site)
  if (optional?.shape.kind === 'list')
    return {
      ...names,
      ...{ stored: undefined, declarations: [], isScalar: false, site, list: optional.shape.of },
      ...(optional.absents.size > 0 ? { mayBeAbsent: true } : {}),
    }
  return { ...names, stored: undefined, declarations: [], isScalar: false, site, ...(optional === undefined ? {} : { optional }) }
}

/** Stores what a function returns in one of several places: locals for the parts, which the first return declares. */
export function returnStored(l: Lowering, result: Result, given: Value, node: AnyNode): void {
  const value = takenApart(l, given)
  noteOptional(l, result.site, value)
  if (absentLiteral(value) !== undefined && result.optional === undefined) {
    result.isScalar = true
    return
  }
  if (result.stored === undefined) {
    const span = l.span(node)
    const declarations: Stmt[] = []
    const { optional } = result
    const storage = l.collectInto(declarations, () =>
      optional === undefined ? emptyLike(l, result.local, value, span) : emptyOptional(l, result.local, optional, span),
    )
    if (storage === undefined) {
      l.refuse('object-as-value', node)
      return
    }
    result.declarations.push(...declarations)
    result.stored = {
      kind: 'stored',
      storage,
      owner: { ...ownerOf(l, result.local, node, { isVariable: true, site: undefined }), isResult: true },
      isPart: false,
    }
  }
  storeParts(l, result.stored, value, node)
}

/** Lowers `test ? a : b` of objects or arrays that are made where they are chosen, as a function that returns one of them. */
export function chosenObject(
  l: Lowering,
  test: Expr,
  branches: readonly { readonly value: Value; readonly emitted: readonly Stmt[] }[],
  node: AnyNode,
): Value {
  const local = l.newName('chosen')
  const result = newResult(l, { local, label: local, breaks: false }, { unit: l.unit, start: node.start })
  const [then = [], other = []] = branches.map(({ value, emitted }) =>
    l.collect(() => {
      l.emit(...emitted)
      returnStored(l, result, value, node)
    }),
  )
  l.emit(...result.declarations, ...makeIf(test, then, other, l.span(node)))
  return result.isScalar ? l.refuse('object-as-value', node) : (result.stored ?? REFUSED)
}

/** Whether a value is an object of a class of the program. */
export function isInstance(value: Value): boolean {
  if (value.kind === 'record') return value.prototype !== undefined
  return value.kind === 'stored' && value.storage.kind === 'fields' && value.storage.prototype !== undefined
}

/** Declares locals like the parts of a value, not set yet; undefined where a part is no scalar. */
function emptyLike(l: Lowering, name: string, value: Value, span: Span): Storage | undefined {
  switch (value.kind) {
    case 'expr': {
      const local = l.newName(name)
      l.emit({ kind: 'Let', local, span })
      return { kind: 'scalar', local }
    }
    case 'tuple': {
      const items = value.items.map((item, i) => emptyLike(l, `${name}_${i}`, item, span))
      return items.includes(undefined) ? undefined : { kind: 'items', items: items as Storage[] } // none is undefined
    }
    case 'record': {
      const fields = value.fields.map((field) => ({
        name: field.name,
        storage: emptyLike(l, `${name}_${plainName(field.name)}`, field.value, span),
      }))
      if (fields.some((field) => field.storage === undefined)) return undefined
      return { kind: 'fields', fields: fields as { name: string; storage: Storage }[], ...ofClass(value) } // none is undefined
    }
    case 'stored': {
      if (!isOptional(value)) return emptyLike(l, name, partsOf(value, span), span)
      const of = emptyLike(l, name, presentOne(value), span)
      const there = l.newName(`${name}_there`)
      l.emit({ kind: 'Let', local: there, init: literal(false, span), span })
      return of && { ...value.storage, there, of }
    }
    default:
      return undefined
  }
}
