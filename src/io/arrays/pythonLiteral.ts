/**
 * Literals of Python, as far as headers of NumPy files have them: texts, whole numbers, True, False, None, tuples, lists and dicts of such.
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 *
 * Nothing is evaluated, and what is no such literal is told with its place.
 */

export type PythonLiteral = string | number | boolean | null | PythonTuple | readonly PythonLiteral[] | ReadonlyMap<string, PythonLiteral>

/** A tuple, which is told apart from a list. */
export interface PythonTuple {
  readonly tuple: readonly PythonLiteral[]
}

/** Why a text is no literal, as the end of a sentence. */
export class NoLiteral extends Error {}

/** The descriptions of the largest structures are some levels deep; a text of nothing but brackets must not fill the stack. */
const DEEPEST = 32

/** The literal that the whole text is, white space around it left out. Throws NoLiteral. */
export function pythonLiteral(text: string): PythonLiteral {
  const reader = new Reader(text)
  const value = reader.value(0)
  reader.end()
  return value
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): PythonLiteral {
    if (depth > DEEPEST) throw new NoLiteral(`it is more than ${DEEPEST} levels deep`)
    this.#skip()
    const c = this.#text[this.#at]
    switch (c) {
      case "'":
      case '"':
        return this.#string(c)
      case '(':
        return this.#tuple(depth)
      case '[':
        return this.#items(']', depth).items
      case '{':
        return this.#dict(depth)
      default:
        return this.#word()
    }
  }

  end(): void {
    this.#skip()
    if (this.#at < this.#text.length) throw this.#unexpected()
  }

  #skip(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? '-')) this.#at++
  }

  #unexpected(): NoLiteral {
    const c = this.#text[this.#at]
    return new NoLiteral(c === undefined ? 'it ends too early' : `${JSON.stringify(c)} at character ${this.#at} makes no sense`)
  }

  #take(c: string): boolean {
    this.#skip()
    if (this.#text[this.#at] !== c) return false
    this.#at++
    return true
  }

  #expect(c: string): void {
    if (!this.#take(c)) throw this.#unexpected()
  }

  /** Reads a text, whose escapes are kept as they stand: no name that is looked for has any. */
  #string(quote: string): string {
    const from = ++this.#at
    for (;;) {
      const c = this.#text[this.#at]
      if (c === undefined || c === '\n') throw this.#unexpected()
      if (c === quote) return this.#text.slice(from, this.#at++)
      this.#at += c === '\\' ? 2 : 1
    }
  }

  /** Reads a tuple. One value in brackets is that value, as in Python, unless a comma stands behind it. */
  #tuple(depth: number): PythonLiteral {
    const { items, hasComma } = this.#items(')', depth)
    const [first] = items
    return items.length === 1 && !hasComma && first !== undefined ? first : { tuple: items }
  }

  #items(close: string, depth: number): { readonly items: PythonLiteral[]; readonly hasComma: boolean } {
    this.#at++
    const items: PythonLiteral[] = []
    let hasComma = false
    while (!this.#take(close)) {
      items.push(this.value(depth + 1))
      if (this.#take(',')) hasComma = true
      else {
        this.#expect(close)
        break
      }
    }
    return { items, hasComma }
  }

  #dict(depth: number): ReadonlyMap<string, PythonLiteral> {
    this.#at++
    const entries = new Map<string, PythonLiteral>()
    while (!this.#take('}')) {
      this.#skip()
      const quote = this.#text[this.#at]
      if (quote !== "'" && quote !== '"') throw this.#unexpected()
      const name = this.#string(quote)
      if (entries.has(name)) throw new NoLiteral(`it has ${JSON.stringify(name)} twice`)
      this.#expect(':')
      entries.set(name, this.value(depth + 1))
      if (!this.#take(',')) {
        this.#expect('}')
        break
      }
    }
    return entries
  }

  #word(): number | boolean | null {
    // Python 2 wrote an L behind its long integers
    const [word = '', digits] = /^(?:(-?(?:0|[1-9]\d*))L?|True|False|None)(?![\w.])/.exec(this.#text.slice(this.#at, this.#at + 400)) ?? []
    if (word === '') throw this.#unexpected()
    this.#at += word.length
    return digits !== undefined ? Number(digits) : word === 'None' ? null : word === 'True'
  }
}
