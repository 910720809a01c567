/** The lifetime of the views of a body that runs as it stands: its pass. A view that is kept is dead afterwards, and says so. */
import { PlanError } from '../../../core/errors.ts'

export class Lifetime {
  #isOver = false
  readonly #atEnd: (() => void)[] = []

  get isOver(): boolean {
    return this.#isOver
  }

  /** Adds what makes a view notice the end, where asking at each access would be dear. */
  onEnd(end: () => void): void {
    this.#atEnd.push(end)
  }

  end(): void {
    this.#isOver = true
    for (const end of this.#atEnd) end()
  }

  check(label: string): void {
    if (this.#isOver) throw endedError(label)
  }
}

export function endedError(label: string): PlanError {
  return new PlanError(
    `This view of ${label} belongs to a pass of a loop that is over. Views are good inside the body only: read the array with at(), row() or toTypedArray().`,
  )
}

/** The methods of an object, each of which asks whether the pass is still under way. */
export function mortal<T extends object>(methods: T, label: string, life: Lifetime | undefined): T {
  if (life === undefined) return methods
  const checked: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(methods)) {
    checked[name] =
      typeof value !== 'function'
        ? value
        : (...args: unknown[]): unknown => {
            life.check(label)
            return value.apply(methods, args)
          }
  }
  return checked as T // the same members
}
