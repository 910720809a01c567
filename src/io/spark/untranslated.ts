/** The error for operations that cannot be said in Spark. */
import type { Span } from '../../core/span.ts'

/** Thrown while a plan is translated; whoever translates adds the name of the operation. */
export class Untranslated extends Error {
  readonly span: Span | undefined
  readonly cure: string
  constructor(reason: string, span: Span | undefined, cure: string) {
    super(reason)
    this.name = 'Untranslated'
    this.span = span
    this.cure = cure
  }
}
