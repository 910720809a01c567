/** Prints accesses so that two texts are equal where they touch the same elements under the same conditions. */
import type { Access } from './accesses.ts'
import { type Constraint, type Form, type Variable, variableId } from './affine.ts'

/** Returns the text of an access, in which variables of the body are numbered in the order they occur. */
export function accessForm({ array, subscripts, constraints }: Access): string {
  const names = new Names()
  const elements = subscripts.map((one) => (one.kind === 'unknown' ? '?' : names.form(one.form)))
  const conditions = constraints.map((constraint) => names.constraint(constraint))
  return `${array} [${elements.join(', ')}] if ${conditions.join(' and ')}`
}

class Names {
  private readonly known = new Map<string, number>()

  form({ terms, offset }: Form): string {
    return [...terms.map(({ variable, factor }) => `${factor} ${this.variable(variable)}`), offset].join(' + ')
  }

  constraint(constraint: Constraint): string {
    switch (constraint.kind) {
      case 'atLeast':
        return `${this.form(constraint.form)} >= 0`
      case 'equal':
        return `${this.form(constraint.form)} = 0`
      case 'either':
        return `(${constraint.cases.map((one) => one.map((inner) => this.constraint(inner)).join(' and ')).join(' or ')})`
    }
  }

  private variable(variable: Variable): string {
    if (variable.kind === 'quotient') return `(${this.form(variable.of)} by ${variable.by} toward ${variable.toward})`
    const id = variableId(variable)
    // Values read at two places stay two variables.
    if (variable.kind !== 'inner' && variable.kind !== 'choice') return id
    const number = this.known.get(id)
    if (number !== undefined) return `v${number}`
    this.known.set(id, this.known.size)
    const name = `v${this.known.size - 1}`
    if (variable.kind === 'inner') return name
    return `${name} where ${variable.means.map((constraint) => this.constraint(constraint)).join(' and ')}`
  }
}
