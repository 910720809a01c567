/**
 * Law: a body that asks for elements of lists of its own which may lie outside (`list[k] ?? 0`, `if (!seen[k])`, `grid[r]?.[c]`, variables
 * and results that are asked later) is compiled to WebAssembly, runs in parallel, and gives the bits of plain JavaScript.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import { bodyOf, type DrawnBody, expectCompiled, looped, plain } from './drawnBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('askedElements.prop.ts')
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

class Stack {
  items: number[] = []
  push(value: number): void {
    this.items.push(value)
  }
  peek(): number | undefined {
    return this.items[this.items.length - 1]
  }
  under(depth: number): number | undefined {
    const at = this.items.length - 1 - depth
    return depth > 1 ? this.items[at] : (this.items[at] ?? this.peek())
  }
  counted = 0
  /** Uses what it returns. */
  seen(depth: number): number | undefined {
    const found = this.items[depth]
    if (depth > 3) return 1
    this.counted += found as number
    return found
  }
}

/** The lists of a body, which differ from row to row in length: of numbers, truths, objects, lists and rows of a grid. */
const LISTS = `const few = [], truths = [], things = [], lists = []
  const typed = new Int16Array([3, -1, i])
  const fixed = [4, 2, 8]
  const grid = Array.from({ length: 3 }, (_, r) => [r, r * 2.5, i])
  const stack = new Stack()
  fixed[i % 3] = s
  for (let k = 0; k < 4; k++) {
    lists.push([])
    if (x.get((i + k) % 20) > 0) continue
    few.push(k * 1.5)
    truths.push(k % 2 === 0)
    things.push({ a: k, b: k + s })
    lists[k].push(k, i)
    stack.push(k)
  }`

function bodyText(numbers: readonly number[]): DrawnBody {
  const { below, of, use, used } = drawing(numbers)
  let names = 0
  const changes = below(2) === 0 // a list whose objects change must have no copies of them
  const name = (): string => `v${names++}`
  const value = (): string => of(['s', 'x.get(i)', 'i', String(below(12) / 4), '-0'])
  const place = (list: string): string =>
    of([
      `${list}.length - ${1 + below(2)}`,
      `i % 6 - ${below(3)}`,
      'k',
      'k - 1',
      `${below(5)}`,
      `${below(3) - 1}`,
      `(s > 0 ? 1 : ${below(6)})`,
      '2 ** 31',
    ])
  const list = (): string => of(['few', 'few', 'typed', 'fixed'])
  const element = (): string => {
    switch (below(9)) {
      case 0:
        return use('of a grid', `grid[${place('grid')}]?.[${place('fixed')}]`)
      case 1:
        return use('of lists', `lists[${place('lists')}]?.[${place('few')}]`)
      case 2:
        return use('of objects', `things[${place('things')}]?.${of(['a', 'b'])}`)
      case 3:
        return use('length of a list', `lists[${place('lists')}]?.length`)
      case 4:
        if (below(4) === 0) return use('one of several results', `stack.seen(${below(6)})`)
        return use('result', of(['stack.peek()', `stack.under(${below(4)})`, 'pick(k)', 'pick(i)']))
      default: {
        const one = list()
        return use('element', `${one}[${place(one)}]`)
      }
    }
  }
  const statement = (depth: number): string => {
    const inner = (): string => (depth > 0 ? statement(depth - 1) : `s = s * 0.5 + (${element()} ?? ${value()})`)
    switch (below(15)) {
      case 0:
        return use('=== a number', `if (${element()} ${of(['===', '!==', '=='])} ${of(['2', '4', 'k', 's', element()])}) { ${inner()} }`)
      case 14:
        return use('?? in a test', `if (${element()} ?? ${of(['true', 's', 'k - 1'])}) { ${inner()} }`)
      case 1:
        return use('=== undefined', `if (${element()} ${of(['=== undefined', '!== undefined', '== null', '!= null'])}) { ${inner()} }`)
      case 2:
        return use(
          'truth',
          `if (${of(['', '!'])}${of([element(), `truths[${place('truths')}]`, `truths[${place('truths')}]`])}) { ${inner()} } else s -= 1`,
        )
      case 3: {
        const one = name()
        return use(
          'kept',
          `{ const ${one} = ${element()}; ${of(['', 'few.push(k);'])} if (${one} !== undefined) s = s * 0.5 + ${one}; else { ${inner()} } }`,
        )
      }
      case 4: {
        const one = name()
        return use(
          'assigned',
          `{ let ${one} = ${element()}; if (${value()} > 1) ${one} = ${element()}; s = s * 0.5 + (${one} ?? ${value()}) }`,
        )
      }
      case 5:
        return use('||', `s = s * 0.5 + (${element()} || ${value()})`)
      case 6: {
        const [a, b] = [name(), name()]
        return use('taken apart', `{ const [${a} = ${value()}, ${b} = 2] = ${of(['few', 'fixed'])}; s = s * 0.5 + ${a} - ${b} }`)
      }
      case 7: {
        if (!changes) return `s -= things[${place('things')}]?.a ?? 1`
        const one = name()
        return use(
          'object',
          `{ const ${one} = things[${place('things')}]; if (${one}${of(['', ' !== undefined'])} && ${one}.a < ${below(4)}) ${one}.b += ${value()}; else { ${inner()} } }`,
        )
      }
      case 8: {
        if (changes) return `s += things[${place('things')}]?.b ?? 1`
        const one = name()
        return use(
          'object or another',
          `{ const ${one} = things[${place('things')}] ?? { a: ${below(5)}, b: s }; s = s * 0.5 + ${one}.a + ${one}.b }`,
        )
      }
      case 9:
        return use('list or none', `for (const e of lists[${place('lists')}] ?? []) s = s * 0.5 + e`)
      case 10:
        return use('cases', `switch (${element()}) { case 2: s += 1; break; case undefined: s -= 2; break; default: s *= 0.5 }`)
      case 11:
        return use('grown by one before', `few.push((few[few.length - 1] ?? ${value()}) + 1)`)
      case 12: {
        const [one, l] = [name(), of(['typed', 'fixed'])]
        const test = of([`${one} >= 0 && ${one} < 3`, `${one} >= 0`, `${one} < 3`])
        return use(
          'tested before',
          `{ const ${one} = i % 7 - ${below(3)}; if (${test}) s = s * 0.5 + (${l}[${one}] ?? 1); s -= ${l}[${one}] ?? 2 }`,
        )
      }
      default:
        return `s = s * 0.5 + (${element()} ?? ${of([value(), `${element()} ?? 3`])})`
    }
  }
  const lines = Array.from({ length: 1 + below(4) }, () => `  for (let k = 0; k < 3; k++) { ${statement(2)} }`)
  return {
    text: `([i], { x, out }) => {\n  let s = x.get(i)\n  ${LISTS}\n  const pick = (at) => few[at]\n${lines.join('\n')}\n  for (const { a, b } of things) s = s * 0.5 + a - b\n  out.set(i, s + (stack.counted || 0))\n}`,
    used,
  }
}

test('elements of lists of the body that may not be there are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  const drawn: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 15, maxLength: 60 }), async (numbers) => {
      const { text, used } = bodyText(numbers)
      const { outcome, plan } = await looped(session, bodyOf(text, { Stack }))
      // a variable that is assigned, as the result of several returns is, may hold NaN, which WebAssembly has for what is not there
      if (used.has('assigned') || used.has('one of several results'))
        expect(`${plan.kernel?.target} ${plan.schedule.kind}`, text).toMatch(/^(wasm.*|js) independent$/)
      else expectCompiled(plan, text)
      expect(outcome, text).toStrictEqual(plain(bodyOf(text, { Stack })))
      for (const one of used) drawn[one] = (drawn[one] ?? 0) + 1
    }),
    RUN,
  )
  console.log(`asked elements: ${JSON.stringify(drawn)}`)
})
