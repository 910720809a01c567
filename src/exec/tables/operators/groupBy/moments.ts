/**
 * Statistics of samples from the values' differences from their mean, by the fixed tree: sums of powers of the values themselves would
 * cancel. A mean is corrected once by the mean of the differences from it, so that the differences are 0 where all values are the same.
 *
 * Skew and kurtosis are those that DuckDB, pandas and spreadsheets compute: corrected for the sample, and of a normal distribution 0.
 */
import { sumByTree, sumOfTerms } from '../../../../core/arrays/fixedTree.ts'

/** The skewness; null for fewer than three values, NaN where all are the same. */
export function skewOf(values: Float64Array): number | null {
  const n = values.length
  if (n < 3) return null
  const mean = meanOf(values)
  const second = powersOff(values, mean, 2) / n
  const third = powersOff(values, mean, 3) / n
  return ((third / (second * Math.sqrt(second))) * Math.sqrt(n * (n - 1))) / (n - 2)
}

/** The kurtosis in excess of a normal distribution's; null for fewer than four values, NaN where all are the same. */
export function kurtosisOf(values: Float64Array): number | null {
  const n = values.length
  if (n < 4) return null
  const mean = meanOf(values)
  const second = powersOff(values, mean, 2) / n
  const fourth = powersOff(values, mean, 4) / n
  const excess = fourth / (second * second) - 3
  return ((n - 1) / ((n - 2) * (n - 3))) * ((n + 1) * excess + 6)
}

/** The covariance of a sample, divided by n - 1; null for fewer than two pairs. */
export function covarianceOf(x: Float64Array, y: Float64Array): number | null {
  if (x.length < 2) return null
  return productsOff(x, y, meanOf(x), meanOf(y)) / (x.length - 1)
}

/** Pearson's correlation, from -1 to 1; null for fewer than two pairs, NaN where the values of one side are all the same. */
export function correlationOf(x: Float64Array, y: Float64Array): number | null {
  if (x.length < 2) return null
  const [meanX, meanY] = [meanOf(x), meanOf(y)]
  const spread = Math.sqrt(powersOff(x, meanX, 2)) * Math.sqrt(powersOff(y, meanY, 2))
  // rounding may lead beyond
  return Math.max(-1, Math.min(1, productsOff(x, y, meanX, meanY) / spread))
}

function meanOf(values: Float64Array): number {
  const mean = sumByTree(values) / values.length
  return mean + sumOfTerms(values.length, (i) => (values[i] as number) - mean) / values.length // i < length
}

function powersOff(values: Float64Array, mean: number, power: 2 | 3 | 4): number {
  return sumOfTerms(values.length, (i) => {
    const off = (values[i] as number) - mean // i < length
    return power === 2 ? off * off : power === 3 ? off * off * off : off * off * (off * off)
  })
}

function productsOff(x: Float64Array, y: Float64Array, meanX: number, meanY: number): number {
  return sumOfTerms(x.length, (i) => ((x[i] as number) - meanX) * ((y[i] as number) - meanY)) // as many of both
}
