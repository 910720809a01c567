/** What the corpus imports: functions and numbers of another module. */
export const lr = 0.01
export const rates = { user: 0.5, movie: 0.25 }
export const weights: Float64Array = Float64Array.of(1, 2, 3)
export const holidays: readonly string[] = ['Monday', 'Friday']

export function dot(a: ArrayLike<number>, b: ArrayLike<number>, n: number): number {
  let sum = 0
  for (let k = 0; k < n; k++) sum += (a[k] as number) * (b[k] as number)
  return sum
}

export const clamp = (x: number, low: number, high: number): number => {
  if (x < low) return low
  if (x > high) return high
  return x
}

export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x))
}

export default function relu(x: number): number {
  return x > 0 ? x : 0
}
