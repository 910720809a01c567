/**
 * Handles of arrays in loop bodies that run as they stand and have captured one: there the handle's methods are those of its
 * view. Outside of bodies `row`, `set` and `shape` are the handle's own, which answer by promises, and there is no `get`, `add` or `has`.
 */
import { viewInBody, viewInLoop } from '../loop/runningLoop.ts'

type Method = (...args: unknown[]) => unknown
type View = Readonly<Record<string, unknown>>

/** Defines the methods that bodies call on the prototype of handles. `planOf` gives undefined for a value that is no handle. */
export function actInBodies(prototype: object, planOf: (handle: unknown) => object | undefined): void {
  const own = (name: string): Method => Reflect.get(prototype, name) as Method // a method of the class
  const define = (name: string, property: PropertyDescriptor): void =>
    void Object.defineProperty(prototype, name, { configurable: true, ...property })
  const viewOf = (handle: unknown, name: string): View | undefined => {
    const plan = planOf(handle)
    return plan === undefined ? undefined : (viewInLoop(plan, `${name} of an array`) as View | undefined)
  }
  for (const name of ['get', 'add', 'has']) {
    define(name, {
      writable: true,
      value(this: unknown, ...args: unknown[]): unknown {
        const view = viewInBody(planOf(this) ?? {}, 'an array', name, 'Elsewhere there are at(), row(), set() and update().') as View
        return (view[name] as Method)(...args)
      },
    })
  }
  const row = own('row')
  define('row', {
    writable: true,
    value(this: unknown, ...args: unknown[]): unknown {
      const view = viewOf(this, 'row()')
      return view === undefined ? row.apply(this, args) : (view.row as Method)(...args)
    },
  })
  const set = own('set')
  define('set', {
    writable: true,
    value(this: unknown, ...args: unknown[]): unknown {
      // a key in a list means the handle's own set(key, value), which writes after the loop
      const view = Array.isArray(args[0]) ? undefined : viewOf(this, 'set()')
      return view === undefined ? set.apply(this, args) : (view.set as Method)(...args)
    },
  })
  const shape = own('shape')
  define('shape', {
    get(this: unknown): unknown {
      return viewOf(this, 'shape')?.shape ?? shape
    },
  })
}
