// Package chart draws every figure of this module, in one style: panels beside each
// other with lines on bands, dots and bars, as SVG and as PNG.
package chart
