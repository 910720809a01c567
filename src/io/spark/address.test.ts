import { expect, test } from 'vitest'
import { PlanError } from '../../core/errors.ts'
import { sparkAddress } from './address.ts'

test('an address has a host, and may have a port and parameters', () => {
  expect(sparkAddress('sc://spark.example')).toEqual({
    text: 'sc://spark.example:15002',
    target: 'spark.example:15002',
    useSsl: false,
    headers: [],
  })
  expect(sparkAddress('sc://[::1]:443/;token=a%3Bb;user_id=ada;x-route=blue')).toEqual({
    text: 'sc://[::1]:443',
    target: '[::1]:443',
    useSsl: true,
    token: 'a;b',
    userId: 'ada',
    headers: [['x-route', 'blue']],
  })
  expect(sparkAddress('sc://h:1;token=t;use_ssl=false').useSsl).toBe(false)
})

test.each([
  [
    4,
    "The tables of Session.start() is the address of a Spark Connect server, as 'sc://host:15002' or 'sc://host:15002/;token=…;use_ssl=true'; it was given 4.",
  ],
  [
    'http://h:1',
    "The tables of Session.start() is \"http://h:1\", which is no address of a Spark Connect server. Write 'sc://host:15002' or 'sc://host:15002/;token=…;use_ssl=true'.",
  ],
  [
    'sc://h:99999/;token=secret',
    "The tables of Session.start() is \"sc://h:99999/;token=…\", which is no address of a Spark Connect server. Write 'sc://host:15002' or 'sc://host:15002/;token=…;use_ssl=true'.",
  ],
  [
    'sc://h/;token',
    "The address of the Spark server has a part \";token\" without a value. Write ;name=value, as in 'sc://host:15002' or 'sc://host:15002/;token=…;use_ssl=true'.",
  ],
  ['sc://h/;use_ssl=yes', 'The use_ssl of the Spark server\'s address is "yes". It is true or false.'],
  ['sc://h/;session_id=7', 'The session_id of the Spark server\'s address is "7". It is a UUID; without it there is a new one.'],
  ['sc://h/;user_ids=a', 'The address of the Spark server has a part "user_ids". Did you mean "user_id"?'],
  ['sc://h/;token=%', "The token of the Spark server's address has a % that no two digits follow. Write encodeURIComponent(value)."],
])('%s is refused', (given, message) => {
  expect(() => sparkAddress(given)).toThrow(new PlanError(message))
})
