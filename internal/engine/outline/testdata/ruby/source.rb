# class Commented
=begin
def commented
end
=end
require "set"

module Fixture
  LIMIT = 10

  class Store < Base
    attr_reader :items

    def initialize(path)
      @path ||= begin
        path
      end
      def inner; end
    end

    def self.open(path) = new(path)

    def empty?; @items.empty?; end

    def name=(value)
      @name = value
    end

    def <=>(other)
      text = "def in_text"
    end

    private def hidden!(a)
    end

    class << self
      def build
      end
    end
  end
end

def top_level
end
