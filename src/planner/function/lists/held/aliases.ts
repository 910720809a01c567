/** Notes which objects have several names that could be told from copies: the next try holds them by number (`heldObjects.ts`). */
import type { Lowering } from '../../lower/lowering.ts'
import type { Records, Site, Value } from '../../lower/value.ts'

/** Notes that the elements of a list, which seemed to be fields in arrays, are objects that other places hold, too; returns their kind. */
export function noteElements(l: Lowering, { parts, site, held }: Records, as?: number): number | undefined {
  if (parts.kind !== 'fields' || (held !== undefined && l.held.isObject(held))) return undefined
  return l.held.noteObjects(held ?? l.held.note({ of: site.unit.f, place: site.start }), as)
}

/** Notes the literal of an object, or of an array, that another name could be told from. Arrays lie in memory then, as those that are indexed. */
export function noteAliased(l: Lowering, site: Site): void {
  if (l.objectSites.has(site)) l.held.noteObject({ of: site.unit.f, place: site.start })
  else l.foundIndexed.push(site)
}

/** Notes an object with others in it, or with nothing, that a variable for objects with other parts is given: a node of a list or tree. */
export function noteLinked(l: Lowering, value: Value): void {
  const isStored = value.kind === 'stored' && value.site !== undefined && l.objectSites.has(value.site)
  if (isStored && value.storage.kind === 'fields') l.held.noteObject({ of: value.site.unit.f, place: value.site.start })
  if (value.kind !== 'record' || value.site === undefined) return
  const isLink = ({ value: part }: { readonly value: Value }): boolean =>
    /^(stored|held|maybeItem|record|item|view|tuple|records)$/.test(part.kind) ||
    (part.kind === 'expr' && part.expr.kind === 'Literal' && part.expr.value == null)
  if (value.fields.some(isLink)) l.held.noteObject({ of: value.site.unit.f, place: value.site.start })
}
