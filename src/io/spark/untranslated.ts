/** What cannot be said in Spark. */
import type { Span } from '../../core/span.ts'

/** Thrown while a plan is translated; who translates adds which operation it is. */
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
