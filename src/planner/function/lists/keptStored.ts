/** What goes on standing for an object whose parts are locals, while these may be given others (`stored.ts`). */
import type { Span } from '../../../core/span.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Storage, Stored, Value } from '../lower/value.ts'
import { isOptional } from './optionals.ts'
import { checkParts, noteCopy, partsOf } from './stored.ts'

/** Returns a value that goes on standing for the object: the object itself, or what a variable holds now. */
export function keptStored(l: Lowering, value: Stored): Value {
  const { owner } = value
  const { span } = owner
  if (owner.isVariable) {
    noteCopy(l, value, span)
    if (isOptional(value))
      return { ...value, storage: copiedStorage(l, value.storage, span), owner: { ...owner, isVariable: false, isShared: true } }
    const kept = l.stabilizedValue(partsOf(value, span))
    return kept.kind === 'tuple' && value.site !== undefined ? { ...kept, site: value.site } : kept
  }
  if (value.isPart) {
    owner.hasNamedParts = true
    checkParts(l, owner, span)
  }
  return value
}

/** Declares locals with what others hold now. */
function copiedStorage(l: Lowering, storage: Storage, span: Span): Storage {
  const copied = (local: string): string => {
    const copy = l.newName(local)
    l.stableLocals.add(copy)
    l.emit({ kind: 'Let', local: copy, init: { kind: 'Local', name: local, span }, span })
    return copy
  }
  switch (storage.kind) {
    case 'scalar':
      return { kind: 'scalar', local: copied(storage.local) }
    case 'items':
      return { kind: 'items', items: storage.items.map((item) => copiedStorage(l, item, span)) }
    case 'fields':
      return { ...storage, fields: storage.fields.map((field) => ({ ...field, storage: copiedStorage(l, field.storage, span) })) }
    case 'optional':
      return { ...storage, there: copied(storage.there), of: copiedStorage(l, storage.of, span) }
    case 'fixed':
      return storage
  }
}
