import { Dictionary, Field, Float64, Int8, List, Schema, Struct, Utf8 } from 'apache-arrow'
import { beforeAll, expect, test } from 'vitest'
import { dictionariesOf } from './arrowLayout.ts'
import { loadArrow } from './arrowLibrary.ts'

beforeAll(loadArrow)

test('the dictionaries of columns are those in their structs and lists, and in the values of others, too', () => {
  const texts = (id: number) => new Dictionary(new Utf8(), new Int8(), id)
  const lists = new Dictionary(new List(new Field('item', texts(9), true)), new Int8(), 8)
  const schema = new Schema([
    new Field('a', new Struct([new Field('of', texts(7), true)]), true),
    new Field('b', new Float64(), true),
    new Field('c', lists, true),
  ])
  expect([[0], [1], [2], [2, 0], []].map((indices) => [...dictionariesOf(schema as never, indices)])).toEqual([
    [7],
    [],
    [8, 9],
    [8, 9, 7],
    [],
  ])
})
