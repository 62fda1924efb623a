"""What may be stored and built again: lists of types, values as JSON, trees and nets checked."""
