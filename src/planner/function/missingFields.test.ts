import { expect, test } from 'vitest'
import type { ElementType } from '../../core/data/schema.ts'
import { lowerFunction } from './userFunction.ts'

const utf8 = { kind: 'utf8' } as const
const GEO = { kind: 'struct', fields: [{ name: 'lat', type: { kind: 'f64' }, nullable: false }] } as const
const ROW: ElementType = {
  kind: 'row',
  fields: [
    {
      name: 'address',
      type: {
        kind: 'struct',
        fields: [
          { name: 'city', type: utf8, nullable: false },
          { name: 'geo', type: GEO, nullable: true },
        ],
      },
      nullable: true,
    },
    { name: 'tags', type: { kind: 'list', item: GEO }, nullable: false },
    { name: 'name', type: utf8, nullable: false },
    { name: 'any', type: { kind: 'unknown' }, nullable: true },
  ],
}

interface Row {
  readonly address: { readonly city: string; readonly geo: { readonly lat: number; readonly latt: number }; readonly ctiy: string }
  readonly tags: readonly { readonly lat: number; readonly lon: number }[] & { readonly lenght: number }
  readonly name: string & { readonly lenght: number }
  readonly any: { readonly ctiy: string }
}

function complaint(f: (r: Row) => unknown): string | undefined {
  try {
    lowerFunction(f, { kind: 'row', method: 'map', inputs: [ROW] })
    return undefined
  } catch (error) {
    return (error as Error).message.replace(/\n.*/s, '')
  }
}

test('a field that objects do not have is named at the call', () => {
  const ctiy = 'map: There is no field "ctiy" in the objects of address. Did you mean "city"? The fields are city, geo.'
  expect(complaint((r) => r.address.ctiy)).toBe(ctiy)
  expect(complaint((r) => ({ c: r.address?.ctiy ?? 'none' }))).toBe(ctiy)
  expect(complaint(({ address: { ctiy } }) => ctiy)).toBe(ctiy)
  expect(
    complaint((r) => {
      const { address } = r
      return address.ctiy === 'A'
    }),
  ).toBe(ctiy)
  expect(complaint((r) => r.address.geo.latt)).toBe(
    'map: There is no field "latt" in the objects of address.geo. Did you mean "lat"? The fields are lat.',
  )
  expect(complaint((r) => r.tags.map((t) => t.lon))).toContain('There is no field "lon" in the objects of r.tags.map(')
  expect(complaint((r) => r.tags.lenght)).toBe('map: The lists of tags have no "lenght". Did you mean "length"?')
  expect(complaint((r) => r.name.lenght)).toBe('map: The texts of name have no "lenght". Did you mean "length"?')
})

test('fields that are there, that values inherit, whose objects are not known, or that nothing reaches are right', () => {
  expect(complaint((r) => r.address.city.length + r.address.geo.lat)).toBeUndefined()
  expect(complaint((r) => (r.tags.map as unknown) === r.any)).toBeUndefined()
  expect(complaint((r) => r.any.ctiy)).toBeUndefined()
  expect(complaint((r) => r.tags.some((t) => t.lon === undefined) || r.address.ctiy != null)).toBeUndefined()
  expect(complaint((r) => /a/.exec(r.name)?.index)).toBeUndefined()
  const old = false
  expect(complaint((r) => (old ? r.address.ctiy : r.address.city))).toBeUndefined()
})
